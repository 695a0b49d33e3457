"""The content of every view, on a terminal and in a browser: rows of captions, and the status. Pure."""
