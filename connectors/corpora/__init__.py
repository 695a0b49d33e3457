"""Files of texts to count and to train on."""
