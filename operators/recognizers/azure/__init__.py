"""Azure's speech service as a recogniser that survives lost connections."""
