"""Messages to the user: through logging to standard error, as sentences or as JSON lines."""
