"""Captions in formats for other programs."""
