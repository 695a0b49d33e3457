"""Recordings: what names them, how they are decoded, and a source that reads them."""
