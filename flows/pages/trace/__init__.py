"""The trace of a segment as pictures and as a page."""
