"""Recognisers that decode growing windows with their last hypothesis as the draft."""
