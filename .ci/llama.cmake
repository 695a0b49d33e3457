# Included by CMake at the top of llama-cpp-python's project. Its CMakeLists.txt forces the cache
# entry of this option on; a plain variable stands above it (policy CMP0126). llama.cpp's library for
# its own command-line tools is more than half of the work of compiling, and Python never loads it.
set(LLAMA_BUILD_COMMON OFF)

# Backends that are chosen when the program starts are modules of their own; llama-cpp-python installs none.
if(GGML_BACKEND_DL)
    set(CMAKE_INSTALL_BINDIR llama_cpp/lib)
endif()
