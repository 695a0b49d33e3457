"""``surtitle bench-speech``: compares ways to decode growing windows of speech, on the same audio."""
