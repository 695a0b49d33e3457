"""What the settings name, put together: the translator, the recogniser, the second model."""
