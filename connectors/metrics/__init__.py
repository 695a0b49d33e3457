"""The metrics of a run, and the server for metrics and health checks."""
