"""A lean towards terms: the translations that a glossary gives for words of the source.

Speech recognisers are biased towards expected phrases in the same way (contextual biasing, Pundak et al.
2018): while a term has been said less often than its source, the logits of its first token and, once it has
begun, of its next token are raised.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from operators.decoding.adjusted import adjusted
from operators.decoding.forward import Logits, Method, Task
from operators.decoding.pieces import Piece, spelled
from operators.glossary import Occurrence, times_said
from operators.prompts.prompt import Prompt

#: After these, a word follows without a space.
_ATTACHING = "([{<\"'„“‚‘«»‹›¿¡-‐‑–—/"


class Lean(NamedTuple):
    """How far the logits of a term's tokens are raised, in nats."""

    #: The first token of a term.
    first: float = 5.0
    #: Each token after the first one.
    next: float = 8.0


#: Chosen by measurement (docs/glossary.md).
LEAN = Lean()


class Term(NamedTuple):
    """A translation of a term that occurs in the source."""

    text: str
    #: Its tokens after a space; those after other text or without a space in a language without spaces.
    spaced: tuple[int, ...]
    #: Its tokens where no space precedes it.
    bare: tuple[int, ...]
    #: How often its source occurs.
    times: int

    @classmethod
    def of(cls, occurrence: Occurrence, prompt: Prompt) -> "Term":
        """The term in the vocabulary of a prompt."""
        text = occurrence.target
        bare = tuple(prompt.vocabulary.tokenize(text))
        spaced = tuple(prompt.vocabulary.tokenize(prompt.joint + text)) if prompt.joint else bare
        return cls(text, spaced, bare, occurrence.times)


def with_terms(
    method: Method,
    task: Task,
    terms: Sequence[Term],
    piece: Piece,
    lean: Lean = LEAN,
) -> Method:
    """The method on the same task, with a lean towards ``terms``; ``piece`` spells a token."""
    return adjusted(method, task, _Raising(terms, piece, lean).raise_in)


class _Raising:
    """Raises the logits of the tokens that begin or continue a term."""

    def __init__(self, terms: Sequence[Term], piece: Piece, lean: Lean) -> None:
        self._terms = terms
        self._piece = piece
        self._lean = lean

    def raise_in(self, row: Logits, output: tuple[int, ...]) -> None:
        """Raise them in the row after ``output``."""
        text = self._text(output)
        missing = [term for term in self._terms if times_said(text, term.text) < term.times]
        # Where a token belongs to several terms, the largest lean counts.
        raised: dict[int, float] = {}
        for term in missing:
            for begun, token in self._expected(term, output, text):
                nats = self._lean.next if begun else self._lean.first
                raised[token] = max(nats, raised.get(token, 0.0))
        for token, nats in raised.items():
            row[token] += nats

    def _expected(self, term: Term, output: tuple[int, ...], text: str) -> Iterator[tuple[int, int]]:
        """The tokens of a term that may follow, and before each how many of its tokens end the output."""
        for tokens in (term.spaced, term.bare):
            for begun, token in enumerate(tokens[: len(output) + 1]):
                place = len(output) - begun
                if output[place:] != tokens[:begun]:
                    continue
                before = self._text(output[:place]) if begun else text
                if tokens == term.spaced or _attaches(before):
                    yield begun, token

    def _text(self, output: Sequence[int]) -> str:
        return spelled(output, self._piece)


def _attaches(text: str) -> bool:
    """Whether a word that follows the text has no space before it."""
    return not text or text[-1].isspace() or text[-1] in _ATTACHING
