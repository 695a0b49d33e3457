"""Decoding methods that do not pay on two cores, and what only they need.

`flows.research` registers them by name. Nothing that captions run through imports this package.
"""
