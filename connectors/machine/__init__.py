"""This machine: its processor, whether llama.cpp runs on it, and what was measured on it."""
