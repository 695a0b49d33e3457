"""Subtitles of finished captions: where text breaks, how long it stays, and the two file formats."""
