"""Rooms whose speakers send their sound over the network, and get its captions back."""
