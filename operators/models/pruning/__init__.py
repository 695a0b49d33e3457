"""A smaller vocabulary for a model: which of its tokens stay, so that the texts are still spelled as before."""
