"""Azure's speech service as a recogniser, through lost connections."""
