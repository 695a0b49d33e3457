"""What a run remembers on disk, so that it can be killed and started again."""
