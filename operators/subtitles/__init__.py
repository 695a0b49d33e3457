"""Subtitles of finished captions: line breaks, display times, and the two file formats."""
