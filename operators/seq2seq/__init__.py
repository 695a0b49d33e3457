"""Encoder-decoder translators in ONNX Runtime (Marian models) behind `operators.decoding`'s interface."""
