"""Encoder-decoder translators in ONNX Runtime behind the contract of `operators.decoding`: Marian models."""
