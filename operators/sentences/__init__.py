"""Conversion of a recogniser's segments to sentences: boundaries, joining, and numbers as digits."""
