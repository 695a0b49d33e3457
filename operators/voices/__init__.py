"""Who speaks: an embedding of each stretch of speech, and the voice that it belongs to."""
