"""Scores that a benchmark gets from other programs, and the journal of its trials."""
