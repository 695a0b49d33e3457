"""What a run counts, and the server that metrics and health are asked of."""
