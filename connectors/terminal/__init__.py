"""Captions on a terminal, or as plain lines where the output is not a terminal."""
