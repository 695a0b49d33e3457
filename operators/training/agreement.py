"""Target words whose form a later word decides: articles agree with nouns that are not heard yet.

English "the" comes before anybody knows whether German needs der, die, das, den, dem or des. A careful
interpreter waits for the noun; a caption that does not wait is revised.
"""

from collections.abc import Callable, Sequence

import regex

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
_BREAK = regex.compile(r"[\p{P}--[’'\-“\"„»«]]+$", regex.V1)
_EDGE = regex.compile(r"^\P{L}+|\P{L}+$")
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
