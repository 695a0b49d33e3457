"""Files that a run can write, a module each."""
