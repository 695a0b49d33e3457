"""Captions in formats that other programs read."""
