"""Prefix training of a captions model, and training of proposal heads."""
