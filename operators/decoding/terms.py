"""A bias of the logits towards the translations that a glossary gives for words of the source.

Speech recognisers are biased towards expected phrases in the same way (contextual biasing, Pundak et al.
2018). While the output contains the translation of a term less often than the source contains the term, the
logits of its first token and, once it has begun, of its next token are raised.

Encoder-decoder models also copy words of the target language from their source, and adapt number and gender
around them. So if an answer lacks a term, its translation replaces it in the source, which is then translated
again (code-switched sources, Song et al. 2019).
"""

from collections.abc import Sequence, Set
from typing import NamedTuple

import numpy as np

from operators.decoding.adjustment import RowRule
from operators.decoding.forward import Logits
from operators.decoding.pieces import Piece, spelled
from operators.glossary import Glossary, times_inflected, times_said
from operators.prompts.prompt import Prompt

#: After these, a word follows without a space.
_ATTACHING = "([{<\"'„“‚‘«»‹›¿¡-‐‑–—/"


class LogitBias(NamedTuple):
    """The bias added to the logits of a translation's tokens, in nats."""

    #: The first token.
    first: float
    #: Each token after the first one.
    next: float


#: The bias towards terms, and towards those whose translations are copied into the source; chosen by
#: measurement (8e8a84cd:docs/glossary.md).
TERM, COPIED = LogitBias(5.0, 8.0), LogitBias(2.0, 4.0)


class Term(NamedTuple):
    """The translation of a word or phrase that occurs in the source, in a model's vocabulary."""

    text: str
    #: Its tokens after a space; in a language without spaces, after other text.
    spaced: tuple[int, ...]
    #: Its tokens where no space precedes it.
    bare: tuple[int, ...]
    #: How often its source occurs.
    times: int = 1
    bias: LogitBias = TERM


def term_bias(terms: Sequence[Term], piece: Piece) -> RowRule:
    """A bias towards ``terms``; ``piece`` spells a token."""
    # For each end of an output, the terms that it begins, with the next token and whether that is bare.
    following: dict[tuple[int, ...], list[tuple[Term, int, bool]]] = {}
    for term in terms:
        for tokens in dict.fromkeys((term.spaced, term.bare)):
            for begun, token in enumerate(tokens):
                following.setdefault(tokens[:begun], []).append((term, token, tokens != term.spaced))
    longest = max(map(len, following), default=0)

    def bias(row: Logits, output: tuple[int, ...]) -> None:
        text = spelled(output, piece)
        missing = {term for term in terms if times_said(text, term.text) < term.times}
        if not missing:
            return
        # If a token belongs to several terms, the largest bias counts.
        raised: dict[int, float] = {}
        for place in range(max(0, len(output) - longest), len(output) + 1):
            begun = output[place:]
            for term, token, is_bare in following.get(begun, ()):
                if term in missing and not (is_bare and _takes_space(spelled(output[:place], piece))):
                    nats = term.bias.next if begun else term.bias.first
                    raised[token] = max(nats, raised.get(token, 0.0))
        for token, nats in raised.items():
            row[token] += np.float32(nats)

    return bias


def _takes_space(text: str) -> bool:
    return bool(text) and not text[-1].isspace() and text[-1] not in _ATTACHING


class SourceTerms:
    """Finds the terms of a glossary in a source."""

    def __init__(self, prompt: Prompt, glossary: Glossary | None) -> None:
        self._prompt = prompt
        self._glossary = glossary or Glossary({})

    def terms(self, text: str, source: tuple[int, ...] = ()) -> Sequence[Term]:
        """The terms that the translation of ``text`` should contain; the model gets it as ``source``."""
        tokenize, joint = self._prompt.vocabulary.tokenize, self._prompt.joint
        given = self._prompt.spelled(source)
        terms = []
        for target, times in self._glossary.occurring(text):
            is_copied = times_said(given, target) > times_said(text, target)
            spaced, bare = tuple(tokenize(joint + target)), tuple(tokenize(target))
            terms.append(Term(target, spaced, bare, times, COPIED if is_copied else TERM))
        return terms

    def source(self, text: str, before: tuple[int, ...], lacking: Set[str] = frozenset()) -> tuple[int, ...]:
        """Token ids of a source; some terms are replaced by their translations, if the model copies these.

        These are the terms that are ``lacking`` in an answer, if its vocabulary can spell their translations,
        and those whose translations were in the source ``before``.
        """
        prompt = self._prompt
        if not prompt.copies:
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
        return {one for one, times in self._glossary.occurring(text) if times_inflected(answer, one) < times}
