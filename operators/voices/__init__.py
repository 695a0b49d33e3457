"""Speaker diarization: an embedding of each stretch of speech, and its assignment to a voice."""
