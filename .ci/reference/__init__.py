"""Reference pages that are generated from the code: the command line, the settings file, the records.

They are committed, so that they can be read where the code is. ``make reference`` writes them; a test says
when one is no longer current.
"""
