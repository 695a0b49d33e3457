"""Moonshine's vocabulary, from the two file formats in which it is published."""

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from operators.errors import InputError
from operators.unreadable import unreadable

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
