"""``surtitle bench-drafts``: compares ways to draft with a second model, on the same texts."""
