"""Sentences out of what a recogniser heard: where one ends, and how its pieces are joined."""
