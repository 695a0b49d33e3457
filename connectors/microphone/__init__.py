"""Microphones and broadcasts as a source of live sound, with true times after every loss."""
