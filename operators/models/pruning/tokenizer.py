"""A tokenizer's table as stored in a GGUF file, and how its tokens are spelled."""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Kinds of tokens, as llama.cpp numbers them.
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6

#: SentencePiece's mark for a space.
_PIECE_SPACE = "▁"


class Table(NamedTuple):
    """What a GGUF file says about its vocabulary; one entry of each per token."""

    #: ``llama`` (SentencePiece, merges by score) or ``gpt2`` (byte pairs, merges by rank).
    model: str
    texts: list[str]
    #: int32: what kind of token it is.
    kinds: NDArray[np.int32]
    #: float32: higher scores are merged first; empty for byte pairs.
    scores: NDArray[np.float32]
    #: For byte pairs: ``left right``, in order of precedence.
    merges: list[str]
    #: Tokens with a role in the header, such as the one that begins a text.
    special: frozenset[int] = frozenset()


class Tokenizer:
    """The table with its lookups."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.size = len(table.texts)

    @cached_property
    def ids(self) -> dict[str, int]:
        """The token of a text, as llama.cpp looks it up: the last one with this spelling."""
        return {text: token for token, text in enumerate(self.table.texts)}

    @cached_property
    def ranks(self) -> dict[str, int]:
        """The place of each merge of byte pairs."""
        return {merge: rank for rank, merge in enumerate(self.table.merges)}

    def plain(self, token: int) -> str:
        """The text of a token; incomplete characters are shown as U+FFFD."""
        text = self.table.texts[token]
        if self.table.model == "llama":
            return text.replace(_PIECE_SPACE, " ")
        letters = _byte_of_letter()
        if any(letter not in letters for letter in text):
            return text  # an added token is spelled as it is
        return bytes(letters[letter] for letter in text).decode("utf-8", "replace")

    @cached_property
    def is_byte(self) -> NDArray[np.bool_]:
        """Which tokens stand for one byte each; together they spell any text."""
        if self.table.model == "llama":
            return np.asarray(self.table.kinds == BYTE)
        letters = _byte_of_letter()
        return np.array([text in letters for text in self.table.texts])


def _byte_of_letter() -> dict[str, int]:
    return _LETTERS


def _gpt2_letters() -> dict[str, int]:
    """The letter that byte pair vocabularies write for each byte (Radford et al. 2019, their encoder)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = (byte for byte in range(256) if byte not in set(printable))
    return {chr(byte): byte for byte in printable} | {
        chr(256 + number): byte for number, byte in enumerate(others)
    }


_LETTERS = _gpt2_letters()
