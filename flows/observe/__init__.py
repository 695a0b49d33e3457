"""The observers of a run: messages, status, summary, metrics, health, captions in browsers."""
