"""Files that are read and written with care: whole, locked and bounded; what they lack is counted."""
