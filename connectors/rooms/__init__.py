"""Rooms: speakers send their sound over the network, and receive its captions."""
