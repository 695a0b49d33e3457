"""Decoding methods that bring no gain on two cores, and their helpers.

`flows.research` registers them by name. The modules that make captions do not import this package.
"""
