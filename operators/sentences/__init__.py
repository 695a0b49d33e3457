"""Sentences: what recognisers write, made into text to translate."""
