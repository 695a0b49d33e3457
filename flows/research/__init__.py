"""Registers the decoding methods of `operators.research`: each module here is found by its name."""
