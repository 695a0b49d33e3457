"""``surtitle model …``: makes models for captions."""
