"""What a model for captions is trained on: pairs, and how much of a target a part of its source supports."""
