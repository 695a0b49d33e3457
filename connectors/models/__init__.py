"""Model files: find, fetch, check, assemble and write them."""
