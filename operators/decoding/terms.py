"""A lean towards translations that a glossary or a dictionary gives for words of the source.

Speech recognisers are biased towards expected phrases in the same way (contextual biasing, Pundak et al.
2018): while the translations of a word have been said less often than the word, the logits of their first
tokens and, once one has begun, of its next token are raised.

Encoder-decoder models also copy words of the target language that stand in their source, and fit number and
gender around them. So a term that an answer lacks is put into the source in translation, and the answer is
made anew (code-switched sources, Song et al. 2019).
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence, Set
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from operators.decoding.adjustment import adjusted
from operators.decoding.forward import Logits, Method, Task
from operators.decoding.pieces import Piece, spelled
from operators.glossary import (
    Dictionary,
    Glossary,
    Translation,
    said_at,
    times_inflected,
    times_said,
    words_of,
)
from operators.prompts.prompt import Prompt

#: After these, a word follows without a space.
_ATTACHING = "([{<\"'„“‚‘«»‹›¿¡-‐‑–—/"


class Lean(NamedTuple):
    """How far the logits of a translation's tokens are raised, in nats."""

    #: The first token.
    first: float
    #: Each token after the first one.
    next: float


class Spelling(NamedTuple):
    """A translation in a model's vocabulary."""

    text: str
    #: Its tokens after a space; those after other text or without a space in a language without spaces.
    spaced: tuple[int, ...]
    #: Its tokens where no space precedes it.
    bare: tuple[int, ...]


class Term(NamedTuple):
    """The translations of a word or phrase that occurs in the source, any of which may be said."""

    spellings: tuple[tuple[Spelling, Lean], ...]
    #: How often its source occurs.
    times: int


def with_terms(method: Method, task: Task, terms: Sequence[Term], piece: Piece) -> Method:
    """The method on the same task, with a lean towards ``terms``; ``piece`` spells a token."""
    return adjusted(method, task, _Raising(terms, piece).raise_in)


class _Expected(NamedTuple):
    """A token that may follow the beginning of a translation."""

    term: int
    token: int
    nats: float
    #: Whether the translation has no space before it.
    is_bare: bool


class _Raising:
    """Raises the logits of the tokens that begin or continue a term."""

    def __init__(self, terms: Sequence[Term], piece: Piece) -> None:
        self._terms = terms
        self._piece = piece
        self._targets = [tuple({one.text.casefold() for one, _ in term.spellings}) for term in terms]
        # What may follow the tokens with which an output ends.
        self._expected: dict[tuple[int, ...], list[_Expected]] = {}
        for number, term in enumerate(terms):
            for spelling, lean in term.spellings:
                self._expect(number, spelling, lean)
        self._begun = sorted({len(tokens) for tokens in self._expected} - {0})
        self._text, self._ends = "", self._said("")
        self._first: dict[tuple[tuple[bool, ...], bool], tuple[NDArray[np.intp], Logits]] = {}

    def _expect(self, number: int, spelling: Spelling, lean: Lean) -> None:
        for tokens in dict.fromkeys((spelling.spaced, spelling.bare)):
            for begun, token in enumerate(tokens):
                one = _Expected(number, token, lean.next if begun else lean.first, tokens != spelling.spaced)
                self._expected.setdefault(tokens[:begun], []).append(one)

    def raise_in(self, row: Logits, output: tuple[int, ...]) -> None:
        """Raise them in the row after ``output``."""
        text = self._spelled(output)
        missing = self._missing(text.casefold())
        if not any(missing):
            return
        # Where a token belongs to several terms, the largest lean counts.
        nexts: dict[int, float] = {}
        for one in self._continuing(output):
            if missing[one.term]:
                nexts[one.token] = max(one.nats, nexts.get(one.token, 0.0))
        before = {token: row[token] for token in nexts}
        tokens, nats = self._beginning(missing, _attaches(text))
        row[tokens] += nats
        for token, lean in nexts.items():
            row[token] = max(row[token], before[token] + np.float32(lean))

    def _continuing(self, output: tuple[int, ...]) -> Iterator[_Expected]:
        for begun in self._begun:
            if begun > len(output):
                return
            place = len(output) - begun
            expected = self._expected.get(output[place:])
            if expected is not None:
                attaches = _attaches(self._spelled(output[:place]))
                yield from (one for one in expected if attaches or not one.is_bare)

    def _beginning(self, missing: tuple[bool, ...], attaches: bool) -> tuple[NDArray[np.intp], Logits]:
        """The first tokens of the missing terms, and how far they are raised."""
        known = self._first.get((missing, attaches))
        if known is None:
            raised: dict[int, float] = {}
            for one in self._expected[()]:
                if missing[one.term] and (attaches or not one.is_bare):
                    raised[one.token] = max(one.nats, raised.get(one.token, 0.0))
            known = np.array(list(raised), np.intp), np.array(list(raised.values()), np.float32)
            self._first[missing, attaches] = known
        return known

    def _missing(self, text: str) -> tuple[bool, ...]:
        """Whether each term has been said less often than its source in the case-folded text."""
        if not self._text.startswith(text):
            self._text, self._ends = text, self._said(text)
        return tuple(
            bisect_right(ends, len(text)) < term.times
            for ends, term in zip(self._ends, self._terms, strict=True)
        )

    def _said(self, text: str) -> list[list[int]]:
        return [said_at(text, targets) for targets in self._targets]

    def _spelled(self, output: Sequence[int]) -> str:
        return spelled(output, self._piece)


def _attaches(text: str) -> bool:
    """Whether a word that follows the text has no space before it."""
    return not text or text[-1].isspace() or text[-1] in _ATTACHING


#: Towards a user's terms, those whose translations stand in the source, and the copies of names, which the
#: model has to begin by itself. These and `_of_word` were chosen by measurement (docs/glossary.md).
TERM = Lean(5.0, 8.0)
COPIED = Lean(2.0, 4.0)
NAME = Lean(0.0, 4.0)


class Leaning:
    """Finds the terms of a source."""

    def __init__(self, prompt: Prompt, glossary: Glossary | None, dictionary: Dictionary | None) -> None:
        """The terms of the ``glossary`` come before the words of the ``dictionary``."""
        self._prompt = prompt
        self._glossary = glossary
        self._dictionary = dictionary
        # Updates repeat the words of the one before.
        self._spelling = lru_cache(4096)(self._spell)

    def terms(self, text: str, source: tuple[int, ...] = ()) -> Sequence[Term]:
        """What the translation of ``text`` should contain, which is given to the model as ``source``."""
        terms = []
        words: Sequence[str | None] = words_of(text)
        if self._glossary is not None:
            given = self._prompt.spelled(source)
            for target, times in self._glossary.occurring(text):
                is_copied = times_said(given, target) > times_said(text, target)
                terms.append(Term(((self._spelling(target), COPIED if is_copied else TERM),), times))
            words = self._glossary.others(words_of(text))
        if self._dictionary is not None:
            for translations, times, is_name in self._dictionary.occurring(words):
                leans = [NAME if is_name else _of_word(one) for one in translations]
                spellings = [self._spelling(one.text) for one in translations]
                terms.append(Term(tuple(zip(spellings, leans, strict=True)), times))
        return terms

    def source(self, text: str, before: tuple[int, ...], lacking: Set[str] = frozenset()) -> tuple[int, ...]:
        """Token ids of a source, with translations in the places of some terms, if the model copies such.

        These are the terms that are ``lacking`` in an answer, if the model can read their translations, and
        those whose translations stood in the source ``before``.
        """
        prompt = self._prompt
        if self._glossary is None or not prompt.copies:
            return prompt.source(text)
        stood = prompt.spelled(before)
        targets = {
            one
            for one, _ in self._glossary.occurring(text)
            if times_said(stood, one) or (one in lacking and prompt.spelled(prompt.source(one)) == one)
        }
        return prompt.source(self._glossary.mixed(text, targets) if targets else text)

    def lacking(self, text: str, answer: str) -> Set[str]:
        """The terms of the glossary that a translation of ``text`` should contain and does not."""
        occurring = () if self._glossary is None else self._glossary.occurring(text)
        return {one for one, times in occurring if times_inflected(answer, one) < times}

    def _spell(self, text: str) -> Spelling:
        vocabulary, joint = self._prompt.vocabulary, self._prompt.joint
        bare = tuple(vocabulary.tokenize(text))
        return Spelling(text, tuple(vocabulary.tokenize(joint + text)) if joint else bare, bare)


def _of_word(translation: Translation) -> Lean:
    """The lean towards a dictionary's translation of a word."""
    return Lean(1.0 + translation.probability, 3.0)
