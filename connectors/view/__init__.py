"""What every viewer is shown, on a terminal and in a browser: rows of captions, and the status. Pure."""
