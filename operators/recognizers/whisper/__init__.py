"""Whisper (Radford et al. 2022), from models in CTranslate2's format, with the last hypothesis as the draft.

CTranslate2 itself gives no logits for tokens that it is handed, and decodes a prefix one token at a time: no
draft can save it anything. So only its file format is used here; ONNX Runtime runs the same weights.
"""
