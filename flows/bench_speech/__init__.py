"""``surtitle bench-speech``: ways to decode growing windows of speech, side by side on the same audio."""
