"""Training captions models: pairs, and how much of a target each prefix of its source supports."""
