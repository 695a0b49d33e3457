"""What a run shows of itself while it runs: status, metrics, health, captions in browsers."""
