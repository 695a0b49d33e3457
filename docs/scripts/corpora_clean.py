"""Turns blocks of translated text into clean pairs of sentences that read like prose.

Every function is pure. A block is a paragraph of a document or an entry of a catalogue; a pair is one English
sentence and its translation. Languages are named by their two-letter codes; ``ja`` and ``zh`` are written
without spaces.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator

Pair = tuple[str, str]

UNSPACED = frozenset({"ja", "zh"})
MAX_WORDS = 80
MAX_COPIED_SHARE = 0.5

# The commonest function words of each language.
FUNCTION_WORDS = {
    "en": (
        "the and of to is that for it with as are this be by from you not have or has which can "
        "their your if we he she they i were but on at up his our my me him us them now what who "
        "all there no do more was an so in could would should one out when how don't it's i'm "
    ),
    "de": (
        "der die das und ist nicht ein eine einen einem einer den dem des zu mit von sie ich es auf "
        "für sich im er wir ihr auch als wie dass sind wird kann oder aber bei nach nur noch wenn "
        "aus haben hat werden durch zum zur über vor du mich mir uns was an so in war man mein sein "
        "unsere diese dieser hier ihn ihm euch mehr wir keine kein um da "
    ),
    "fr": (
        "le la les et est un une des du de que qui dans pour pas vous nous il elle ce cette sur "
        "avec sont ou au aux se on me ne je tu ils plus en par son sa ses mais si leur être comme "
        "votre notre a à y "
    ),
    "es": (
        "el la los las y es un una de del que en por para no se con su al lo como más este esta son "
        "o si ha pero me te nos les le sus mi ser muy hay ya a "
    ),
}
FUNCTION_SETS = {language: frozenset(words.split()) for language, words in FUNCTION_WORDS.items()}

INLINE_TAG = re.compile(r"</?(?:i|b|u|em|strong|small|big|q|span|it|bold|emphasis)\b[^<>]*>", re.IGNORECASE)
NOT_PROSE = re.compile(
    r"""[<>{}\\|=^~`$@_#*\[\]/&+\ufffd\u25a0-\u27bf\ue000-\uf8ff]  # markup, paths, accelerators, symbols
    |(?<!\d)(?<!\d\s)%|%(?=[\w(])                                  # format placeholders; '5 %' and '5%' stay
    |(?:^|\s)-{1,2}\w                                             # options
    |\(\)|::|\.\.\.\.|->|→|…\s*…                                  # calls, dotted lines, menu paths
    |\w\.[a-z]{2,4}\b|(?:^|\s)\.\w                                # file names, host names
    |\b\w+-\w+-\w+-\w+\b|\b[a-z]+\d+\b|\bv?\d+\.\d+\.\d+           # package names, versions
    |\b(?:https?|www|ftp|RFC|IRC|Ctrl|Strg|Alt|stdin|stdout|stderr|malloc|foo)\b""",
    re.VERBOSE,
)
CAMEL_CASE = re.compile(r"\b(?!Ma?c[A-Z])\w*[a-z][A-Z]\w*")
SHOUTED = re.compile(r"\b[^\W\d_a-zäöüß]{2,}\b")
SENTENCE_END = re.compile(r"[.!?…][\"'”“’»)]*$|[。！？」』）]$")
BOUNDARY = re.compile(
    r"(?<=[.!?…])([\"'”“’»)]*)\s+(?=[\"'„“‚»«(¿¡]*[A-ZÄÖÜÀ-ÝŒ0-9])|(?<=[。！？])(?![」』）])()\s*"
)
ABBREVIATION = re.compile(
    r"\b(?:[A-Za-z]|\d+|z\.\s?B|d\.\s?h|u\.\s?a|i\.e|e\.g|p\.\s?ej"
    r"|Dr|Mr|Mrs|Ms|St|Nr|No|vs|bzw|ca|usw|etc|vgl|Abb|Kap|M)\.$"
)
STAGE_DIRECTION = re.compile(r"^[(（][^()（）]*[)）]\s*(?=\S)")
QUOTES = re.compile('["„“”«»]')
LETTERS_ONLY = re.compile(r"[\W_]+")


def tidy(text: str) -> str:
    """Text without inline emphasis, entities, invisible characters and runs of white space."""
    text = unicodedata.normalize("NFC", html.unescape(INLINE_TAG.sub("", text)))
    text = re.sub(r"[\u00ad\u200b-\u200f\u2060\ufeff]", "", text)
    return re.sub(r"^[*•‒–—-] ", "", re.sub(r"\s+", " ", text).strip())


def sentences(text: str) -> list[str]:
    """``text`` cut behind its full stops, with abbreviations and ordinals left whole."""
    found: list[str] = []
    start = 0
    for boundary in BOUNDARY.finditer(text):
        end = boundary.start() + len(boundary.group(1) or "")
        if not ABBREVIATION.search(text[start:end]) and text[start:end].strip():
            found.append(text[start:end].strip())
            start = boundary.end()
    rest = text[start:].strip()
    return [*found, rest] if rest else found


def word_count(text: str, language: str) -> int:
    """Words of ``text``; where words are not spaced, two characters count as one."""
    return (len(text) + 1) // 2 if language in UNSPACED else len(text.split())


def key(text: str) -> str:
    """What two spellings of one sentence share: its letters and digits, without case."""
    return LETTERS_ONLY.sub("", text.casefold())


def block_pairs(english: str, other: str, language: str) -> list[Pair]:
    """The sentence pairs of one block; the whole block where its sentences do not line up."""
    english, other = tidy(english), tidy(other)
    if STAGE_DIRECTION.match(english) and STAGE_DIRECTION.match(other):
        english, other = STAGE_DIRECTION.sub("", english), STAGE_DIRECTION.sub("", other)
    ours, theirs = sentences(english), sentences(other)
    pairs = [unquoted(left, right) for left, right in zip(ours, theirs, strict=False)]
    if len(ours) == len(theirs) and all(lengths_agree(left, right, language) for left, right in pairs):
        return pairs
    return [unquoted(english, other)]


def unquoted(english: str, other: str) -> Pair:
    """The pair without quotation marks where either text has lost one half of a quotation."""
    if any(len(QUOTES.findall(text)) % 2 for text in (english, other)):
        english, other = QUOTES.sub("", english).strip(), QUOTES.sub("", other).strip()
    return english, other


def lengths_agree(english: str, other: str, language: str) -> bool:
    """Whether one text can translate the other by its length in characters; short ones vary more."""
    expected = len(english) * (0.45 if language in UNSPACED else 1.15)
    return 0.5 < (len(other) + 6) / (expected + 6) < 1.9


def is_prose(text: str, language: str) -> bool:
    """Whether ``text`` is made of words: no markup, code, placeholder, path, address or shouting."""
    if (
        NOT_PROSE.search(text)
        or len(SHOUTED.findall(text)) > 2
        or not 1 <= word_count(text, language) <= MAX_WORDS
    ):
        return False
    wanted = sum(character.isalpha() or character == " " for character in text)
    return wanted >= (0.8 if language in UNSPACED else 0.88) * len(text) - 2


def in_language(text: str, language: str, rival: str) -> bool:
    """Whether function words, or the script, say that ``text`` is ``language`` and not ``rival``."""
    if language in UNSPACED:
        kana = any("\u3040" <= character <= "\u30ff" for character in text)
        wide = sum("\u3040" <= character <= "\u9fff" for character in text)
        return wide >= 0.5 * len(text) and (language == "ja") == kana
    words = re.findall(r"[^\W\d_]+", text.lower())
    own = sum(word in FUNCTION_SETS[language] for word in words)
    foreign = sum(word in FUNCTION_SETS.get(rival, ()) for word in words)
    return own >= foreign and (own > 0 or len(words) < 9)


def numbers(text: str) -> list[str]:
    """The numbers of ``text`` above twelve, sorted, without separators; smaller ones may stand as words."""
    found = re.findall(r"\d+", re.sub(r"(?<=\d)[.,\s](?=\d)", "", text))
    return sorted(number for number in found if int(number) > 12)


def is_copied(english: str, other: str) -> bool:
    """Whether the translation is, for the most part, the English left as it was."""
    ours, theirs = set(english.lower().split()), other.lower().split()
    copied = sum(word in ours for word in theirs if len(word) > 3)
    return key(english) == key(other) or (
        len(theirs) > 3 and copied > MAX_COPIED_SHARE * sum(len(word) > 3 for word in theirs)
    )


def is_pair(english: str, other: str, language: str) -> bool:
    """Whether the two are prose in their languages, alike in length, numbers, names and ending."""
    return (
        is_prose(english, "en")
        and is_prose(other, language)
        and lengths_agree(english, other, language)
        and bool(SENTENCE_END.search(english)) == bool(SENTENCE_END.search(other))
        and in_language(english, "en", language)
        and in_language(other, language, "en")
        and numbers(english) == numbers(other)
        and sorted(CAMEL_CASE.findall(english)) == sorted(CAMEL_CASE.findall(other))
        and not is_copied(english, other)
    )


def is_sentence(english: str) -> bool:
    """Whether ``english`` is a sentence rather than a label: it ends as one and has three words or more."""
    starts = english[0].isupper() or english[0].isdigit() or english[0] in "\"'“‘"
    return starts and bool(SENTENCE_END.search(english)) and len(english.split()) >= 3


def clean(
    blocks: Iterable[Pair], language: str, held_out: frozenset[str], *, labels: bool = False
) -> Iterator[Pair]:
    """The sentence pairs of ``blocks`` that pass every test, each English sentence once.

    ``held_out`` holds the keys of sentences that models are measured on: a pair with one of them on a side
    is left out. ``labels`` keeps phrases that are no sentences.
    """
    seen: set[str] = set()
    for block in blocks:
        for english, other in block_pairs(*block, language):
            ours, theirs = key(english), key(other)
            if not ours or not theirs or ours in seen or ours in held_out or theirs in held_out:
                continue
            if (labels or is_sentence(english)) and is_pair(english, other, language):
                seen.add(ours)
                yield english, other
