"""Prompts as data: how a model is prompted for a translation."""
