"""Files that are read and written with care: whole, locked, bounded, and missed when they fail."""
