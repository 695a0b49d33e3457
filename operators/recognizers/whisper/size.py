"""The shape of a Whisper model, read from its weights."""

from typing import NamedTuple

from operators.errors import InputError
from operators.recognizers.whisper.weights import Weights

#: Positions on which the encoder was trained: 30 s.
POSITIONS = 1500


class Size(NamedTuple):
    """The shape of a model."""

    encoder_layers: int
    decoder_layers: int
    encoder_heads: int
    heads: int
    #: Width of the states, and of one head of the decoder.
    width: int
    head_width: int
    #: Mel bands of the features.
    bands: int
    #: Tokens, and positions of the decoder.
    tokens: int
    length: int


def size_of(weights: Weights) -> Size:
    """The shape of the model with these weights. Raises `InputError` if they do not form one."""
    tokens, width = _shape(weights, "decoder/embeddings/weight", 2)
    bands = _shape(weights, "encoder/conv1/weight", 3)[1]
    length = _shape(weights, "decoder/position_encodings/encodings", 2)[0]
    heads, encoder_heads = weights.number("decoder/num_heads"), weights.number("encoder/num_heads")
    layers = _layers(weights, "encoder"), _layers(weights, "decoder")
    if not (all(layers) and heads > 0 and encoder_heads > 0 and width % heads == 0 == width % encoder_heads):
        raise InputError("model.bin: its sizes do not form a Whisper model; convert the model again")
    return Size(*layers, encoder_heads, heads, width, width // heads, bands, tokens, length)


def _shape(weights: Weights, name: str, rank: int) -> tuple[int, ...]:
    shape = weights.shape(name)
    if len(shape) != rank:
        raise InputError(f"model.bin: {name} has another shape than in a Whisper model; convert it again")
    return shape


def _layers(weights: Weights, part: str) -> int:
    count = 0
    while f"{part}/layer_{count}/ffn/linear_0/weight" in weights:
        count += 1
    return count
