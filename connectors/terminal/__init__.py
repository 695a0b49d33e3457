"""Captions on a terminal, or as lines where there is none."""
