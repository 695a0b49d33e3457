"""Microphones and broadcasts as a source of live sound, with correct times after every loss."""
