"""``surtitle bench-drafts``: ways to draft with a second model, on the same texts."""
