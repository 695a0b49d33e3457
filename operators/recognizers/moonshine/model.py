"""Moonshine's encoder and decoder in ONNX Runtime (Jeffries et al. 2024).

The weights are those of Moonshine's merged exports: `encoder_model` and `decoder_model_merged`, as ``.ort``
or ``.onnx``. The number of layers and heads is read from the files, so every size and language works.
"""

import os
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from operators.decoding.forward import Logits
from operators.errors import InputError, unreadable
from operators.models.onnx_graphs import MergedDecoder, OnnxGraph, own_thread
from operators.recognizers.part import check_folder
from operators.recognizers.windowed.segmenter import Samples

#: SentencePiece's mark for a space.
_SPACE = "▁".encode()
_BYTE = re.compile(rb"<0x([0-9A-Fa-f]{2})>")
_MARK = re.compile(rb"<[^<>]*>")
#: More than any speech model has.
_MAX_TOKENS = 1 << 20


class _Vocabulary(msgspec.Struct):
    vocab: dict[str, int]


class _TokenizerFile(msgspec.Struct):
    """The needed parts of Hugging Face's tokenizer.json."""

    model: _Vocabulary


class Tokenizer:
    """The bytes of each token."""

    def __init__(self, spellings: Sequence[bytes]) -> None:
        self._pieces = [_piece(spelling) for spelling in spellings]

    def __len__(self) -> int:
        return len(self._pieces)

    def piece(self, token: int) -> bytes:
        """The bytes that a token stands for; empty for a control token."""
        return self._pieces[token] if 0 <= token < len(self._pieces) else b""

    def text(self, tokens: Sequence[int]) -> str:
        """The text of tokens, without the space before its first word."""
        return b"".join(map(self.piece, tokens)).decode("utf-8", "replace").strip()


def load_tokenizer(folder: Path) -> Tokenizer:
    """Read ``tokenizer.bin`` (Moonshine's own) or ``tokenizer.json`` (Hugging Face's) of a model's folder.

    Raises `InputError` if neither can be read.
    """
    binary, json = folder / "tokenizer.bin", folder / "tokenizer.json"
    path = binary if binary.is_file() else json
    if not path.is_file():
        raise InputError(
            f"{folder}: it holds no tokenizer.bin and no tokenizer.json; name the folder of a Moonshine model"
        )
    try:
        data = path.read_bytes()
        return Tokenizer(_read_binary(data) if path == binary else _read_json(data))
    except OSError as error:
        raise InputError(unreadable(path, error)) from error
    except (ValueError, msgspec.MsgspecError) as error:
        raise InputError(
            f"{path}: this is not the tokenizer of a Moonshine model; fetch the model again"
        ) from error


def _read_binary(data: bytes) -> list[bytes]:
    """Each token is its length in one byte, or two from 128 on, and its bytes."""
    spellings: list[bytes] = []
    at = 0
    while at < len(data):
        length, at = data[at], at + 1
        if length >= 128:
            if at >= len(data):
                raise ValueError("a length is cut off")
            length, at = length - 128 + 128 * data[at], at + 1
        if at + length > len(data) or len(spellings) >= _MAX_TOKENS:
            raise ValueError("a token is cut off")
        spellings.append(data[at : at + length])
        at += length
    if not spellings:
        raise ValueError("there are no tokens")
    return spellings


def _read_json(data: bytes) -> list[bytes]:
    vocabulary = msgspec.json.decode(data, type=_TokenizerFile).model.vocab
    highest = max(vocabulary.values(), default=-1)
    if not 0 <= highest < _MAX_TOKENS or min(vocabulary.values()) < 0:
        raise ValueError("token numbers are out of range")
    spellings = [b""] * (highest + 1)
    for text, token in vocabulary.items():
        spellings[token] = text.encode("utf-8", "replace")
    return spellings


def _piece(spelling: bytes) -> bytes:
    byte = _BYTE.fullmatch(spelling)
    if byte:
        return bytes([int(byte[1], 16)])
    if _MARK.fullmatch(spelling):
        return b""
    return spelling.replace(_SPACE, b" ")


#: The tokens that begin and end a transcript, in every Moonshine model.
BEGIN, END = 1, 2

_Array = NDArray[Any]
#: The encoder's convolutions need this many samples for one state.
MIN_SAMPLES = 1024


class MoonshineModel:
    """One model's two sessions, shared by all streams of the process."""

    def __init__(self, folder: Path, threads: int) -> None:
        """Load the files of ``folder``; raises `InputError` if it contains no merged Moonshine model."""
        check_folder(folder, (), "a Moonshine model")
        self.tokenizer: Tokenizer = load_tokenizer(folder)
        executor = own_thread()
        self._encoder = OnnxGraph(_find(folder, "encoder_model"), threads, executor)
        self.decoder = MergedDecoder(_find(folder, "decoder_model_merged"), threads, executor)

    def encode(self, samples: Samples) -> "Encoded":
        """The encoder's states of a window: float32 samples of shape (n,) at 16 kHz, from -1 to 1.

        Raises `ModelTrouble` if ONNX Runtime fails.
        """
        if len(samples) < MIN_SAMPLES:
            samples = np.concatenate((samples, np.zeros(MIN_SAMPLES - len(samples), np.float32)))
        mask = np.ones((1, len(samples)), np.int64)
        made = self._encoder.run({"input_values": samples[np.newaxis], "attention_mask": mask})
        return Encoded(self, next(iter(made.values())), mask)


class Encoded:
    """A window's encoder states, and the decoder's KV cache over them: a `KvCache`."""

    def __init__(self, model: MoonshineModel, states: _Array, mask: _Array) -> None:
        self._model = model
        self._given = {"encoder_hidden_states": states, "encoder_attention_mask": mask}
        self._kept: dict[str, _Array] = {}
        self._length = 0

    def again(self) -> "Encoded":
        """The same window with nothing decoded yet."""
        return Encoded(self._model, *self._given.values())

    def cut(self, length: int) -> int:
        """Drop every position from ``length`` on; returns how many are left."""
        self._length = length
        return length

    def evaluate(self, tokens: Sequence[int], start: int, rows: int) -> Logits:
        """Append ``tokens`` at ``start``; the logits of the last ``rows`` of them."""
        assert start == self._length, "a pass continues where the cache ends"
        decoder, is_first = self._model.decoder, not self._kept
        past = self._kept or dict.fromkeys((*decoder.own, *decoder.cross), decoder.empty)
        fed = {
            **self._given,
            **past,
            **{name: past[name][:, :, : self._length] for name in decoder.own},
            "input_ids": np.array([list(tokens)], np.int64),
        }
        logits, made = decoder.step(fed, past if is_first else decoder.own, is_first=is_first)
        self._kept |= made
        self._length += len(tokens)
        return logits[-rows:]


@cache
def load_model(folder: str, threads: int) -> MoonshineModel:
    """The process's model of a folder. Raises `InputError` if the folder does not contain one."""
    return MoonshineModel(Path(folder), threads)


def _find(folder: Path, name: str) -> Path:
    for suffix in (".ort", ".onnx"):
        path = folder / (name + suffix)
        if os.access(path, os.R_OK):
            return path
    raise InputError(
        f"{folder}: it holds no {name}.ort and no {name}.onnx; name the folder of a merged Moonshine model"
    )
