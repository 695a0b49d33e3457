"""Recognisers of growing windows, decoded with their last hypothesis as the draft."""
