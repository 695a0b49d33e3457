"""Moonshine: a small encoder-decoder speech model, decoded with its last hypothesis as the draft."""
