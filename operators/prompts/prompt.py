"""A prompt at token level: a fixed head, the source, a fixed tail.

The head is evaluated once and shared by all segments. Only the template's own text may become control
tokens: speech that spells ``<end_of_turn>`` stays text, and a line break in it stays a space.
"""

from collections.abc import Container
from typing import NamedTuple, Protocol


class Vocabulary(Protocol):
    """What a prompt needs from a model."""

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        """Token ids of ``text``; only with ``special`` can it spell control tokens."""
        ...

    def piece(self, token: int) -> bytes:
        """The bytes that a token stands for; none if the vocabulary has no such token."""
        ...

    def is_end(self, token: int) -> bool:
        """Whether the model ends its output with this token."""
        ...

    @property
    def begin(self) -> list[int]:
        """The tokens at the start of a prompt."""
        ...


class Prompt(NamedTuple):
    """A prompt that lacks only the source."""

    vocabulary: Vocabulary
    #: Token ids before the source, the same for every request.
    head: tuple[int, ...]
    #: Text between the head and the source's first word; tokenised with the source, because most
    #: vocabularies hold a word together with the space before it.
    lead: str
    #: Token ids after the source of a final.
    tail: tuple[int, ...]
    #: Token ids that end the output.
    stop: Container[int]
    #: Text between the translations of two windows of a long segment: empty in a language without spaces.
    joint: str = " "
    #: Whether the model was trained on unfinished text: it needs no full stop there, and may answer nothing.
    knows_unfinished: bool = False
    #: Token ids after an unfinished source; None if the model is not told which one it is.
    unfinished_tail: tuple[int, ...] | None = None

    def source(self, text: str) -> tuple[int, ...]:
        """Token ids of the recognised text; white space is folded."""
        return tuple(self.vocabulary.tokenize(self.lead + " ".join(text.split())))

    def build(self, source: tuple[int, ...], *, is_final: bool) -> tuple[int, ...]:
        """Token ids of the whole prompt for one source."""
        tail = self.tail if is_final or self.unfinished_tail is None else self.unfinished_tail
        return (*self.head, *source, *tail)


class EndOfLine:
    """Stop tokens of a prompt whose answers are one line long.

    Any token whose text contains a line break ends the answer: Gemma's vocabulary has 33 of them, and
    which one comes depends on what follows.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def __contains__(self, token: object) -> bool:
        """Whether ``token`` ends the line."""
        assert isinstance(token, int)
        return b"\n" in self._vocabulary.piece(token) or self._vocabulary.is_end(token)


class EndOfTurn:
    """Stop tokens of a chat model: those with which it ends its turn."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def __contains__(self, token: object) -> bool:
        """Whether ``token`` ends the turn."""
        assert isinstance(token, int)
        return self._vocabulary.is_end(token)
