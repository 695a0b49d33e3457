"""A dataflow run in this process, and the line that says what a wait is for."""
