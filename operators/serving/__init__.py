"""Many rooms on one model: who is served next, and what they ask for put together in one pass."""
