"""The tokens of encoder-decoder models: the pieces of SentencePiece (Kudo and Richardson 2018)."""

import re
from pathlib import Path
from typing import Any, Self

from operators.errors import InputError, unreadable

_SPACE = "▁"
_UNKNOWN = "<unk>"
# A character that no piece contains, so it becomes a separate piece.
_NOBODYS = "\ue000"
# Marks such as </s>, <pad>, and >>deu<< of models with several target languages.
_CONTROL = re.compile(r"<[^<>]*>|>>.*<<")
#: The mark of a target language.
LANGUAGE = re.compile(r">>(.*)<<")
# A byte of a character that has no piece.
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


class PieceVocabulary:
    """The tokens of one language. As a `Vocabulary` it spells no control tokens and has no beginning."""

    def __init__(
        self,
        spm: Path,
        ends: tuple[int, ...],
        numbers: dict[str, int] | None = None,
        source: Self | None = None,
    ) -> None:
        """The pieces of ``spm``; raises `InputError` if it is not a SentencePiece model.

        Args:
            ends: Tokens that end an output.
            numbers: Numbers of the pieces, if they are not those of SentencePiece.
            source: The vocabulary of the source language, if it is another one.
        """
        self._processor = _processor(spm)
        if numbers is None:
            numbers = {self._processor.id_to_piece(one): one for one in range(len(self._processor))}
        self.numbers = numbers
        #: The source vocabulary.
        self.source = source or self
        self._unknown = numbers.get(_UNKNOWN, 0)
        self._ends = ends
        self._pieces = {number: _bytes_of(piece) for piece, number in numbers.items()}

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:  # noqa: ARG002 - the protocol
        """Token ids of ``text``; the space of a text that begins with one belongs to its first token."""
        if not text or text[0].isspace():
            pieces = self._processor.encode(text, out_type=str)
        else:
            # SentencePiece puts a space before all texts, but a word after a quotation mark has none.
            pieces = self._processor.encode(_NOBODYS + text, out_type=str)
            pieces = pieces[_begin(pieces) :]
        return [self.numbers.get(piece, self._unknown) for piece in pieces]

    def piece(self, token: int) -> bytes:
        return self._pieces.get(token, b"")

    def is_end(self, token: int) -> bool:
        return token in self._ends

    @property
    def begin(self) -> list[int]:
        return []


def _bytes_of(piece: str) -> bytes:
    if (byte := _BYTE.fullmatch(piece)) is not None:
        return bytes.fromhex(byte[1])
    return b"" if _CONTROL.fullmatch(piece) else piece.replace(_SPACE, " ").encode()


# With byte fallback, `_NOBODYS` is spelled in bytes.
_NOBODYS_BYTES = [f"<0x{byte:02X}>" for byte in _NOBODYS.encode()]


def _begin(pieces: list[str]) -> int:
    """Where the text after `_NOBODYS` begins."""
    for place, piece in enumerate(pieces):
        if _NOBODYS in piece:
            return place + 1
        if pieces[place : place + len(_NOBODYS_BYTES)] == _NOBODYS_BYTES:
            return place + len(_NOBODYS_BYTES)
    return 0


def _processor(path: Path) -> Any:
    import sentencepiece  # takes a moment, and language models need none

    try:
        return sentencepiece.SentencePieceProcessor(model_proto=path.read_bytes())
    except OSError as error:
        raise InputError(unreadable(path, error)) from error
    except RuntimeError as error:
        raise InputError(f"{path}: this is not a SentencePiece model; fetch it again") from error
