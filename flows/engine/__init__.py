"""Builds what the settings name: the translator, the recogniser, the draft model."""
