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


#: Maximum number of tokens of the notes in a prompt; the first notes are left out if there are more.
MAX_NOTES = 128


class PromptNotes(NamedTuple):
    before: tuple[int, ...]
    between: tuple[int, ...]
    tail: tuple[int, ...]
    #: The format of a note, with ``{term}`` and ``{translation}``.
    each: str = ""

    @property
    def room(self) -> int:
        return len(self.before) + MAX_NOTES + len(self.between) + len(self.tail)


class Prompt(NamedTuple):
    """A prompt without its source."""

    vocabulary: Vocabulary
    #: Token ids before the source, the same for every request.
    head: tuple[int, ...]
    #: Text between the head and the source's first word; tokenised with the source, because a token of most
    #: vocabularies includes the space before a word.
    lead: str
    #: Token ids after the source of a final.
    tail: tuple[int, ...]
    #: Token ids that end the output.
    stop: Container[int]
    #: Text between the translations of two windows of a long segment: empty in a language without spaces.
    joint: str = " "
    #: Whether the model was trained on unfinished text: then such text needs no full stop, and the answer may
    #: be empty.
    knows_unfinished: bool = False
    #: Token ids after an unfinished source; None if the prompt does not mark it.
    unfinished_tail: tuple[int, ...] | None = None
    #: The prompts with terms of a glossary and with preceding sentences; None if the model has none.
    terms: PromptNotes | None = None
    context: PromptNotes | None = None
    #: Default number of words at the end of unfinished text that wait for the next update.
    hold_back: int = 0
    #: Whether the model copies words of the target language from the source.
    copies: bool = False
    #: The model's padding token; if it has none, a token that ends the output.
    pad: int = 0
    #: Whether the output is the source itself, corrected.
    corrects: bool = False

    def with_notes(self, terms: Sequence[tuple[str, str]], said: Iterable[str]) -> Self:
        """The prompt with terms and their translations, or with the sentences ``said`` before, if supported.

        No known template supports both; terms come first. The last notes are used, as many as fit.
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
        """The number of tokens of a part of a source, including a space before it."""
        return len(self.vocabulary.tokenize(" " + " ".join(part.split())))

    def build(self, source: tuple[int, ...], *, is_final: bool) -> tuple[int, ...]:
        """Token ids of the whole prompt for one source."""
        tail = self.tail if is_final or self.unfinished_tail is None else self.unfinished_tail
        return (*self.head, *source, *tail)


class EndOfTurn:
    """Stop tokens of a chat model: those that end its turn, and further ``ends``."""

    def __init__(self, vocabulary: Vocabulary, ends: Container[int] = ()) -> None:
        self._vocabulary, self._ends = vocabulary, ends

    def __contains__(self, token: object) -> bool:
        assert isinstance(token, int)
        return self._vocabulary.is_end(token) or token in self._ends


class EndOfLine(EndOfTurn):
    """Stop tokens of a prompt whose answers are one line long: any token with a line break ends an answer.

    Gemma's vocabulary has 33 of them; the following text decides which one comes.
    """

    def __contains__(self, token: object) -> bool:
        assert isinstance(token, int)
        return b"\n" in self._vocabulary.piece(token) or super().__contains__(token)
