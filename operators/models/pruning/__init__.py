"""A smaller vocabulary for a model: which tokens stay, so that texts are tokenised as before."""
