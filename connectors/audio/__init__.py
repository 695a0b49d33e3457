"""Recordings: their names, their decoding, and a source that reads them."""
