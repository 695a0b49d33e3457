"""``surtitle bench``: compares decoding methods on one model, with the columns of the papers."""
