"""A prompt at token level: a fixed head, the source, a fixed tail.

The head is evaluated once and shared by all segments. Only the template's own text may become control
tokens: speech that spells ``<end_of_turn>`` stays text, and a line break in it stays a space.
"""

from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple, Protocol, Self


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


#: Maximum number of tokens of the notes in a prompt; the first notes are left out where there are more.
MAX_NOTES = 128


class PromptNotes(NamedTuple):
    before: tuple[int, ...]
    between: tuple[int, ...]
    tail: tuple[int, ...]
    #: What a note looks like, with ``{term}`` and ``{translation}``.
    each: str = ""

    @property
    def room(self) -> int:
        return len(self.before) + MAX_NOTES + len(self.between) + len(self.tail)


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
    #: Token ids after an unfinished source; None if the prompt does not mark it.
    unfinished_tail: tuple[int, ...] | None = None
    #: The prompt where terms of a glossary occur, and the one after other sentences; None if the model's
    #: makers foresee none.
    terms: PromptNotes | None = None
    context: PromptNotes | None = None
    #: Words at the end of unfinished text that wait for the next update, unless the settings say otherwise.
    hold_back: int = 0
    #: Whether the model copies words of the target language that stand in a source.
    copies: bool = False
    #: The model's padding; where it has none, a token that ends the output.
    pad: int = 0
    #: Whether the output is the source itself, corrected.
    corrects: bool = False

    def with_notes(self, terms: Sequence[tuple[str, str]], said: Iterable[str]) -> Self:
        """The prompt with terms and their translations, or with what was ``said`` before, if it has places.

        No known template has both; terms come first. The last notes are used, as many as fit.
        """
        if terms and self.terms is not None:
            noted, joint, each = self.terms, "\n", self.terms.each
            notes = [each.replace("{translation}", to).replace("{term}", term) for term, to in terms]
        elif self.context is not None:
            noted, joint, notes = self.context, " ", list(said)
        else:
            return self
        for first in range(len(notes)):
            tokens = self.vocabulary.tokenize(joint.join(notes[first:]))
            if len(tokens) <= MAX_NOTES:
                return self._replace(head=(*noted.before, *tokens, *noted.between), tail=noted.tail)
        return self

    def source(self, text: str) -> tuple[int, ...]:
        """Token ids of the recognised text; white space is folded."""
        return tuple(self.vocabulary.tokenize(self.lead + " ".join(text.split())))

    def spelled(self, source: tuple[int, ...]) -> str:
        return b"".join(map(self.vocabulary.piece, source)).decode(errors="replace").strip()

    def size(self, part: str) -> int:
        """The number of tokens of a part of a source, with the space that may stand before it."""
        return len(self.vocabulary.tokenize(" " + " ".join(part.split())))

    def build(self, source: tuple[int, ...], *, is_final: bool) -> tuple[int, ...]:
        """Token ids of the whole prompt for one source."""
        tail = self.tail if is_final or self.unfinished_tail is None else self.unfinished_tail
        return (*self.head, *source, *tail)


class EndOfTurn:
    """Stop tokens of a chat model: those with which it ends its turn, and further ``ends``."""

    def __init__(self, vocabulary: Vocabulary, ends: Container[int] = ()) -> None:
        self._vocabulary, self._ends = vocabulary, ends

    def __contains__(self, token: object) -> bool:
        assert isinstance(token, int)
        return self._vocabulary.is_end(token) or token in self._ends


class EndOfLine(EndOfTurn):
    """Stop tokens of a prompt whose answers are one line long: any token with a line break ends one.

    Gemma's vocabulary has 33 of them, and which one comes depends on what follows.
    """

    def __contains__(self, token: object) -> bool:
        assert isinstance(token, int)
        return b"\n" in self._vocabulary.piece(token) or super().__contains__(token)
