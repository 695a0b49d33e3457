"""This machine: its processor, whether llama.cpp runs on it, and measurements made on it."""
