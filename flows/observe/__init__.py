"""Those who look on at a run: messages, status, summary, metrics, health, captions in browsers."""
