"""A smaller vocabulary for a model: which of its tokens stay, so that texts are spelled as before."""
