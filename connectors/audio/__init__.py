"""Recordings: a source that reads them and a sink that writes them."""
