"""Serving over HTTP in a thread of its own: who may ask, what a request may be, how long it may take."""
