"""Encoder-decoder translators in ONNX Runtime: Marian models such as OPUS-MT's, behind the decoding contract."""
