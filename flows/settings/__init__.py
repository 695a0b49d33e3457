"""Settings: their fields, how they are read, and the options that override them."""
