"""Decoding methods as pure generators of forward passes, and the code that drives them."""
