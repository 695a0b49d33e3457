"""``surtitle model …``: makes captions models."""
