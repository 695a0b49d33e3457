"""Whisper (Radford et al. 2022), from models in CTranslate2's format, with the last hypothesis as the draft.

CTranslate2 itself returns no logits for given tokens, and decodes a prefix one token at a time, so a draft
could not save anything. Only its file format is used here; ONNX Runtime runs the same weights.
"""
