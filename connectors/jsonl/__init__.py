"""Events in files of JSON lines: one event per line, of one type per file."""
