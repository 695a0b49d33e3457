# Included by CMake at the top of llama-cpp-python's project. Its CMakeLists.txt forces the cache
# entry of this option on; a plain variable stands above it (policy CMP0126). llama.cpp's library for
# its own command-line tools is more than half of the work of compiling, and Python never loads it.
set(LLAMA_BUILD_COMMON OFF)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64" AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:SHELL:-include \"${CMAKE_CURRENT_LIST_DIR}/amx.h\">")

    # Whatever -march=native or own flags say: GCC and Clang take a -mno- for the last word.
    if(SURTITLE_WITHOUT_AMX)
        include(CheckCXXCompilerFlag)
        foreach(part tile int8 bf16)
            check_cxx_compiler_flag(-mno-amx-${part} SURTITLE_KNOWS_AMX_${part})
            if(SURTITLE_KNOWS_AMX_${part})
                add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-mno-amx-${part}>")
            endif()
        endforeach()
    endif()
endif()

# Backends that are chosen when the program starts are modules of their own; llama-cpp-python installs none.
if(GGML_BACKEND_DL)
    set(CMAKE_INSTALL_BINDIR llama_cpp/lib)
endif()
