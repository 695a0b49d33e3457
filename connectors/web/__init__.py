"""Captions in a browser: the protocol, the hub that every viewer hangs on, and the server."""
