"""GGUF files (the format of llama.cpp): read and written without interpretation."""
