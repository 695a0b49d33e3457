"""Reads and writes files: atomically, with locks and size limits; lost records are counted."""
