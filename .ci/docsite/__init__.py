"""What `make docs` needs besides MkDocs: pages from outside ``docs/``, and a check of the built site."""
