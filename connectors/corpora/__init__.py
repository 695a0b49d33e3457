"""Text files for counting and training."""
