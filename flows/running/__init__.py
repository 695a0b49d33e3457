"""Runs a dataflow in this process, and shows a progress line while the user waits."""
