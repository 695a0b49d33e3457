"""What a model for captions is trained on: aligned pairs, and which part of a target a part of its source supports."""
