"""Translations with a table of how much of the target each source prefix supports.

Methods of training on prefixes differ only in this table: proportional length (Arivazhagan et al. 2020,
"Re-translation versus streaming for simultaneous translation", prefix training), or the longest prefix that
the source's words support, by word alignment. A third method, the model's own translations cut where the
source no longer supports them, yields such a table too. Lengths are in words, or in pieces for scripts
without spaces, and are monotone in the source's length.

Support by alignment is corrected in three places. A link between two sentences is nearly always wrong. A
target word whose form a later word decides waits for it: English "the" comes before anybody knows whether
German needs der, die, das, den, dem or des. An unfinished sentence has no full stop, and a clause whose end
was not heard has no comma.
"""

import sys
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Self

import numpy as np
import regex

from operators.training.alignment import Alignment, align, pieces

#: Punctuation that ends a sentence, in the scripts of the trained languages.
SENTENCE_ENDS = frozenset(".!?…。！？")
# Marks of category P that belong to the character before them.
_KEPT = frozenset("%&#@*/§‰")


def unclosed(target: str, heard: Sequence[str]) -> str:
    """`target`, the translation of an unfinished text, without final punctuation that is not heard yet.

    `heard` are the source words since this target became the translation. If one of them ends a sentence,
    `target` may end one; if one ends with another mark, `target` may end with another mark.
    """
    ends = {word[-1:] for word in heard if _is_mark(word[-1:])}
    if ends & SENTENCE_ENDS:
        return target
    drop = SENTENCE_ENDS.__contains__ if ends else _is_mark
    end = len(target)
    while end and (target[end - 1].isspace() or drop(target[end - 1])):
        end -= 1
    return target[:end]


def _is_mark(character: str) -> bool:
    return bool(character) and unicodedata.category(character).startswith("P") and character not in _KEPT


# A sentence's last word: its mark, and closing marks after it. An initial or a number with a dot ends none.
_END = regex.compile(r"(?r)(?<!^\p{Lu}|\d)[.!?…。！？]+[\"'”’“»«)\]」』]*$")
# A sentence is at most this many times longer than its translation, apart from a few words.
_RATIO, _FEW = 2.5, 4


def matching(source: Sequence[str], target: Sequence[str]) -> list[tuple[int, int]]:
    """The lengths, in words, of both sides' sentences; all as one if the two sides do not match.

    They match if both have the same number of sentences and no sentence is much longer than its counterpart.
    """
    whole = [(len(source), len(target))]
    sources, targets = _lengths(source), _lengths(target)
    if len(sources) != len(targets):
        return whole
    lengths = list(zip(sources, targets, strict=True))
    if any(max(pair) > _RATIO * min(pair) + _FEW for pair in lengths):
        return whole
    return lengths or whole


def _lengths(words: Sequence[str]) -> list[int]:
    ends = [at for at, word in enumerate(words, start=1) if _END.search(word.strip()) or at == len(words)]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]


def proportional(n_source: int, m_target: int, i: int) -> int:
    """How many of `m_target` words go with the first `i` of `n_source` words, rounded down."""
    _check(n_source, i)
    return m_target if i == n_source else m_target * i // n_source


def supports(
    alignment: Alignment, n_source: int, m_target: int, waits: Sequence[int] | None = None
) -> list[int]:
    """For each number of source words, 1 to `n_source`, how many target words they support.

    A target word is supported if all source words to which it is aligned are there, and all words before it
    are supported. A word without a link (an article, an auxiliary, a particle) is supported together with the
    next word that has one, because it belongs to what follows it. After the last linked word, all of the
    source is needed.

    Args:
        alignment: Links as `operators.training.alignment.align` returns them.
        n_source, m_target: Words of the source, at least 1, and of the target.
        waits: For each target word the index of the word, at or after it, that decides its form, as a noun
            decides its article's (`operators.training.pairs`). It is not supported before that one.
    """
    _check(n_source, 0)
    # How many source words each target word needs: up to the last one to which it is linked.
    needed = np.zeros(m_target, np.int64)
    if len(alignment):
        np.maximum.at(needed, alignment[:, 1], alignment[:, 0] + 1)
    follows = n_source
    for j in range(m_target - 1, -1, -1):
        follows = needed[j] = needed[j] or follows
    before = np.maximum.accumulate(needed)
    if waits is not None:
        before = np.maximum.accumulate(before[_reach(waits)])
    table = np.searchsorted(before, np.arange(1, n_source + 1), side="right")
    table[-1] = m_target
    return [int(length) for length in table]


def joined_supports(tables: Sequence[Sequence[int]]) -> list[int]:
    """The table of a sequence of sentences from their separate tables."""
    before = accumulate((table[-1] for table in tables), initial=0)
    return [start + length for start, table in zip(before, tables, strict=False) for length in table]


def _reach(waits: Sequence[int]) -> list[int]:
    """The last word for which each word waits, directly or through words between."""
    reach = list(waits)
    for j in range(len(reach) - 1, -1, -1):
        if reach[j] > j:
            reach[j] = max(reach[j], *reach[j + 1 : reach[j] + 1])
    return reach


def _check(n_source: int, i: int) -> None:
    if not (n_source >= 1 and 0 <= i <= n_source):
        raise ValueError(f"a prefix of {i} words of a source of {n_source}")


# fmt: off
_GERMAN_STEMS = frozenset({
    "ein", "kein", "mein", "dein", "sein", "ihr", "unser", "euer", "eur", "dies", "jed", "jen", "welch",
    "manch", "solch",
})
_GERMAN_DETERMINERS = frozenset({
    "der", "die", "das", "den", "dem", "des", "im", "am", "zum", "zur", "vom", "beim", "ins", "ans",
    "aufs", "alle", "allen", "aller", "alles", "beide", "beiden", "viele", "vielen", "einige",
    "einigen", "mehrere", "mehreren",
}) | {stem + ending for stem in _GERMAN_STEMS for ending in ("", "e", "en", "em", "er", "es")}
_FRENCH_DETERMINERS = frozenset({
    "le", "la", "les", "un", "une", "des", "du", "au", "aux", "ce", "cet", "cette", "ces", "mon", "ma",
    "mes", "ton", "ta", "tes", "son", "sa", "ses", "notre", "nos", "votre", "vos", "leur", "leurs",
    "quel", "quelle", "quels", "quelles",
})
_SPANISH_DETERMINERS = frozenset({
    "el", "la", "los", "las", "un", "una", "unos", "unas", "del", "al", "este", "esta", "estos",
    "estas", "ese", "esa", "esos", "esas", "aquel", "aquella", "nuestro", "nuestra", "nuestros",
    "nuestras", "vuestro", "vuestra", "vuestros", "vuestras", "otro", "otra", "otros", "otras", "mucho",
    "mucha", "muchos", "muchas",
})
# fmt: on
# Prepositions that merge with an article: "in" is wrong if "im" turns out to be right.
_GERMAN_CONTRACTING = frozenset({"in", "an", "zu", "von", "bei"})
_GERMAN_ARTICLES = frozenset({"der", "die", "das", "den", "dem", "des"})
# Words that may come between an article and its noun: adjectives, by their endings, and numbers.
_GERMAN_ADJECTIVE = regex.compile(
    r"\p{Ll}+e[nrms]?|\d[\d.,]*|sehr|ganz|so|zu|zwei|drei|vier|fünf|sechs|acht|zehn|elf|zwölf"
)
_BREAK = regex.compile(r"(?r)[\p{P}--[’'\-“\"„»«]]+$", regex.V1)
# A run is tried from its first character only: the time of a search stays linear.
_EDGE = regex.compile(r"^\P{L}++|(?<!\P{L})\P{L}++$")
# Maximum number of adjectives between an article and its noun.
_REACH = 4


def waits(words: Sequence[str], language: str) -> list[int]:
    """For each word the index of the word that decides its form: its own, or that of a later noun.

    `language` is a code such as "de"; words of an unknown language wait for none.
    """
    decided_by = _RULES.get(language)
    if decided_by is None:
        return list(range(len(words)))
    stripped = [word.strip() for word in words]
    return [decided_by(stripped, index) for index in range(len(stripped))]


def _german(words: Sequence[str], index: int) -> int:
    """German capitalises nouns: an article waits for the next noun, across adjectives."""
    if _is_ordinal(words, index):
        return index + 1
    if _BREAK.search(words[index]):
        return index
    word = _core(words[index])
    if word in _GERMAN_CONTRACTING and index + 1 < len(words) and _core(words[index + 1]) in _GERMAN_ARTICLES:
        return _german(words, index + 1)
    if word not in _GERMAN_DETERMINERS:
        return index
    for at in range(index + 1, min(index + 2 + _REACH, len(words))):
        if _is_ordinal(words, at):
            continue
        core = _EDGE.sub("", words[at])
        if core[:1].isupper():
            return at
        if not _GERMAN_ADJECTIVE.fullmatch(words[at].rstrip(",")) or words[at].endswith("."):
            return index
    return index


def _is_ordinal(words: Sequence[str], index: int) -> bool:
    """Whether a word is a number with a dot and is not the last word, like "5." in "am 5. Mai"."""
    return words[index][:-1].isdecimal() and words[index].endswith(".") and index + 1 < len(words)


def _next_word(determiners: frozenset[str]) -> Callable[[Sequence[str], int], int]:
    """The rule for a language without capitalised nouns: a determiner waits for the next word."""

    def decided_by(words: Sequence[str], index: int) -> int:
        at = index
        while at + 1 < len(words) and _core(words[at]) in determiners and not _BREAK.search(words[at]):
            at += 1
        return at

    return decided_by


def _core(word: str) -> str:
    return _EDGE.sub("", word).lower()


_RULES: dict[str, Callable[[Sequence[str], int], int]] = {
    "de": _german,
    "fr": _next_word(_FRENCH_DETERMINERS),
    "es": _next_word(_SPANISH_DETERMINERS),
}


@dataclass(frozen=True, slots=True)
class Pair:
    """A translation, and how much of it each source prefix supports."""

    #: Words.
    source: tuple[str, ...]
    #: Pieces, as `operators.training.alignment` makes them.
    target: tuple[str, ...]
    #: For each number of source words from 1 on, how many target pieces belong to them; the last entry is all
    #: of them.
    supports: tuple[int, ...]

    @classmethod
    def of(cls, source: str, target: str, supports: Sequence[int], language: str) -> Self:
        """A pair of texts; `language` is the target's code.

        Raises:
            ValueError: `supports` does not fit the texts: its length, its order or its last number.
        """
        # Interned: a corpus of millions of words holds each of them once.
        words = tuple(sys.intern(word) for word in source.split())
        parts = tuple(sys.intern(piece) for piece in pieces(target, language))
        table = tuple(supports)
        if (
            not words
            or not parts
            or len(table) != len(words)
            or table[-1] != len(parts)
            or list(table) != sorted(table)
        ):
            raise ValueError("the table does not fit the texts")
        return cls(words, parts, table)

    def prefix(self, words: int) -> str:
        """The target of so many source words, without punctuation that is not heard yet."""
        if words == 0:
            return ""
        length = self.supports[words - 1]
        target = "".join(self.target[:length])
        if words == len(self.source):
            return target
        # What was written once stays: a comma that was heard, and everything that a shorter prefix had.
        since = bisect_left(self.supports, length)
        open_target = unclosed(target, self.source[since:words])
        return open_target if open_target == target else max(open_target, self.prefix(since), key=len)


def joined(pairs: Sequence[Pair], separator: str = " ") -> Pair:
    """Pairs in sequence, with `separator` between their targets: empty for a script without spaces."""
    target: list[str] = []
    for pair in pairs:
        first, *rest = pair.target
        target += [separator + first if target else first, *rest]
    return Pair(
        tuple(word for pair in pairs for word in pair.source),
        tuple(target),
        tuple(joined_supports([pair.supports for pair in pairs])),
    )


def by_proportion(texts: Iterable[tuple[str, str]], language: str) -> list[Pair]:
    """Pairs of source and target texts with prefixes of proportional length; empty texts are left out."""
    pairs = []
    for source, target in texts:
        n, m = len(source.split()), len(pieces(target, language))
        if n and m:
            table = [proportional(n, m, i) for i in range(1, n + 1)]
            pairs.append(Pair.of(source, target, table, language))
    return pairs


def by_alignment(
    texts: Iterable[tuple[str, str]],
    language: str,
    *,
    seed: int = 1,
    progress: Callable[[float], None] | None = None,
) -> list[Pair]:
    """Pairs of source and target texts with prefixes that their words support, by word alignment.

    The alignment is learned only from these texts and needs tens of thousands of them. Parameters and errors
    are those of `operators.training.alignment.align`; `language` is the target's code. Empty texts are left
    out.
    """
    whole = [(source, target) for source, target in texts if source.strip() and target.strip()]
    sides: list[tuple[list[str], list[str]]] = []
    counts = []
    for source, target in whole:
        words, parts = source.split(), pieces(target, language)
        lengths = matching(words, parts)
        counts.append(len(lengths))
        for n, m in lengths:
            sides.append((words[:n], parts[:m]))
            words, parts = words[n:], parts[m:]
    tables = (
        supports(links, len(words), len(parts), waits(parts, language))
        for (words, parts), links in zip(sides, align(sides, seed=seed, progress=progress), strict=True)
    )
    return [
        Pair.of(source, target, joined_supports([next(tables) for _ in range(count)]), language)
        for (source, target), count in zip(whole, counts, strict=True)
    ]
