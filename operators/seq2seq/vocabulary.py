"""Marian's vocabulary: pieces of SentencePiece, numbered by ``vocab.json`` for both languages.

The pieces of the source and of the target come from different models, but share their numbers, unless there
is a ``target_vocab.json``. Numbers are not those of SentencePiece.
"""

import re
from pathlib import Path
from typing import Any

import msgspec

from operators.errors import InputError, unreadable
from operators.extras import needs_extra

_SPACE = "▁"
_UNKNOWN = "<unk>"
# A character that no piece has, and so a piece of its own.
_NOBODYS = "\ue000"
# Marks such as </s>, <pad>, and >>deu<< of models with several target languages.
_CONTROL = re.compile(r"<[^<>]*>|>>.*<<")
LANGUAGE = re.compile(r">>(.*)<<")


class MarianVocabulary:
    """The tokens of one language. As a `Vocabulary` it spells no control tokens and has no beginning."""

    def __init__(self, spm: Path, numbers: dict[str, int], ends: tuple[int, ...]) -> None:
        """The pieces of ``spm``, with ``numbers``; raises `InputError` if it is no SentencePiece model."""
        self.numbers = numbers
        self._unknown = numbers.get(_UNKNOWN, 0)
        self._ends = ends
        self._processor = _processor(spm)
        self._pieces = {
            number: b"" if _CONTROL.fullmatch(piece) else piece.replace(_SPACE, " ").encode()
            for piece, number in numbers.items()
        }

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:  # noqa: ARG002 - the protocol
        """Token ids of ``text``; the space of a text that begins with one belongs to its first token."""
        if not text or text[0].isspace():
            pieces = self._processor.encode(text, out_type=str)
        else:
            # SentencePiece puts a space before all texts; a word after a quotation mark, say, has none.
            pieces = self._processor.encode(_NOBODYS + text, out_type=str)
            pieces = pieces[1 + next(i for i, piece in enumerate(pieces) if _NOBODYS in piece) :]
        return [self.numbers.get(piece, self._unknown) for piece in pieces]

    def piece(self, token: int) -> bytes:
        """The bytes that a token stands for; empty for a control token, and for one of another vocabulary."""
        return self._pieces.get(token, b"")

    def is_end(self, token: int) -> bool:
        """Whether the model ends its output with this token."""
        return token in self._ends

    @property
    def begin(self) -> list[int]:
        """A source begins with no token of its own."""
        return []


class TargetVocabulary(MarianVocabulary):
    """What a model writes, with what it reads."""

    def __init__(self, folder: Path, ends: tuple[int, ...]) -> None:
        """Raises `InputError` if a file of them cannot be read."""
        numbers = read_numbers(folder / "vocab.json")
        #: The tokens of what it reads.
        self.source = MarianVocabulary(folder / "source.spm", numbers, ends)
        other = folder / "target_vocab.json"
        super().__init__(folder / "target.spm", read_numbers(other) if other.is_file() else numbers, ends)


def read_numbers(path: Path) -> dict[str, int]:
    """The number of each piece. Raises `InputError` if the file cannot be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, int])
    except OSError as error:
        raise InputError(unreadable(path, error)) from error
    except msgspec.MsgspecError as error:
        raise InputError(f"{path}: this is not a Marian vocabulary, {error}; fetch it again") from error


def _processor(path: Path) -> Any:
    with needs_extra("marian", "a Marian model"):
        import sentencepiece
    try:
        return sentencepiece.SentencePieceProcessor(model_proto=path.read_bytes())
    except OSError as error:
        raise InputError(unreadable(path, error)) from error
    except RuntimeError as error:
        raise InputError(f"{path}: this is not a SentencePiece model; fetch it again") from error
