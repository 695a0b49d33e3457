"""The folder of a Whisper model in CTranslate2's format: its contents and its requirements."""

import os
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from operators.errors import InputError, is_folder, unreadable
from operators.recognizers.whisper.vocabulary import Vocabulary, load_vocabulary
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


class WhisperConfig(msgspec.Struct):
    """The needed parts of config.json: tokens that greedy decoding never takes."""

    suppress_ids: tuple[int, ...] = ()
    #: Tokens with which it never begins.
    suppress_ids_begin: tuple[int, ...] = ()


class WhisperFolder(NamedTuple):
    """The contents of a folder."""

    path: Path
    vocabulary: Vocabulary
    #: Tokens that no transcript contains, and tokens with which none begins.
    suppressed: NDArray[np.int64]
    suppressed_first: NDArray[np.int64]
    size: Size


def read_folder(path: Path) -> tuple[WhisperFolder, Weights]:
    """Read a model's folder; of the weights only their names.

    Raises `InputError` if it is not a Whisper model in CTranslate2's format.
    """
    _check(path)
    vocabulary, config = load_vocabulary(path), _config(path)
    weights = Weights(path / "model.bin")
    size = size_of(weights)
    if len(vocabulary) > size.tokens:
        raise InputError(
            f"{path}: its vocabulary has {len(vocabulary)} tokens, and the model {size.tokens}; "
            "fetch both again"
        )
    # Those of the configuration, and the marks of other tasks and of timestamps.
    suppressed = {*config.suppress_ids, *range(vocabulary.end + 1, size.tokens)}
    first = set(config.suppress_ids_begin)
    suppressed_at, first_at = _indices(suppressed, size.tokens), _indices(first, size.tokens)
    return WhisperFolder(path, vocabulary, suppressed_at, first_at, size), weights


def _indices(numbers: set[int], most: int) -> NDArray[np.int64]:
    return np.array(sorted(number for number in numbers if 0 <= number < most), np.int64)


def _check(folder: Path) -> None:
    if not is_folder(folder):
        raise InputError(f"{folder}: there is no such folder; name the folder that holds the Whisper model")
    missing = [name for name in ("model.bin", "config.json") if not os.access(folder / name, os.R_OK)]
    if not any(os.access(folder / name, os.R_OK) for name in ("vocabulary.json", "vocabulary.txt")):
        missing.append("vocabulary.json")
    if missing:
        raise InputError(
            f"{folder}: it holds no {', '.join(missing)}; name the folder of a Whisper model in the "
            "format of CTranslate2"
        )


def _config(folder: Path) -> WhisperConfig:
    path = folder / "config.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=WhisperConfig)
    except OSError as error:
        raise InputError(unreadable(path, error)) from error
    except msgspec.MsgspecError as error:
        raise InputError(
            f"{path}: this is not the configuration of a Whisper model: {error}; fetch it again"
        ) from error
