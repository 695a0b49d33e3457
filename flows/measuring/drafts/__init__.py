"""``surtitle bench-drafts``: compares ways of drafting with a draft model, on the same texts."""
