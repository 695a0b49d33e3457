"""The commands that measure: subjects that register themselves, and what they share.

A subject is a package in this folder with a module ``command``, which registers a command; see `subject`.
"""
