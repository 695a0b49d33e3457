"""Captions in a browser: the protocol, the hub that serves all viewers, and the server."""
