"""GGUF files (the format of llama.cpp): read and written as they are."""
