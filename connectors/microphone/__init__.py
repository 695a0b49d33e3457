"""Microphones as a source, with true times whatever happens to them."""
