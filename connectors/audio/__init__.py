"""Recordings: read as a source, written as a sink."""
