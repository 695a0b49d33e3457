"""Reads what a user says of words: a glossary, whose terms bind, and a dictionary, which advises.

A glossary has lines of a term, a tab and its translation. A dictionary has such lines, too, or is what
dict.cc, Ding or FreeDict give away. What people wrote in these for readers is cleaned: gender, field,
pronunciation and placeholders are left out, and so are entries too long to be looked up.
"""

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

from connectors.files.contents import read_text
from operators.errors import InputError
from operators.glossary import (
    MAX_TRANSLATIONS,
    MAX_WORDS,
    Glossary,
    Lexicon,
    Translation,
    lexicon_of,
    spelling,
    words_of,
)
from operators.languages import Direction
from operators.text import cleaned

#: Some 200,000 terms of ordinary length, in 160 MB of memory.
MAX_GLOSSARY_BYTES = 10_000_000
#: A longer text is a sentence and not a term.
MAX_TERM_CHARACTERS = 200


def read_glossary(path: Path, without: str = "") -> Glossary:
    """The glossary in a file; empty lines and columns after the second are ignored.

    Args:
        path: The file.
        without: Stands for the translation where a line has none; if empty, such a line is refused.

    Raises:
        InputError: for a file that cannot be read or is too large, a line that is not UTF-8 or not a term and
            its translation, and a term with two translations.
    """
    translations: dict[tuple[str, ...], str] = {}
    lines: dict[tuple[str, ...], int] = {}
    content = read_text(path, "the terms", MAX_GLOSSARY_BYTES, "keep the terms that this speech needs")
    for number, line in enumerate(content.split("\n"), start=1):
        if not line.strip():
            continue
        words, target = _term(line, without, f"{path}, line {number}")
        other = translations.setdefault(words, target)
        first = lines.setdefault(words, number)
        if other != target:
            raise InputError(
                f"{path}, line {number}: the term of line {first} has another translation here, {target!r} "
                f"instead of {other!r}; keep one of them"
            )
    if not translations:
        raise InputError(f"{path} has no terms; write one on each line: the term, a tab, its translation")
    return Glossary(translations)


def _term(line: str, without: str, where: str) -> tuple[tuple[str, ...], str]:
    """The spelling of the term in a line, and its translation."""
    source, *columns = line.split("\t")
    if not columns and not without:
        raise InputError(f"{where}: there is no tab; write the term, a tab, and its translation")
    # Before anything else is done with them, because they may be very long.
    target = columns[0] if columns else ""
    if max(len(source), len(target)) > MAX_TERM_CHARACTERS:
        raise InputError(
            f"{where}: the term or its translation has more than {MAX_TERM_CHARACTERS} characters; shorten it"
        )
    source, target = _cleaned(source), _cleaned(target) or without
    words = spelling(source)
    if not words:
        raise InputError(f"{where}: there is no word before the tab; write the term there")
    if not target:
        raise InputError(f"{where}: there is nothing after the tab; write the translation there")
    return words, target


def _cleaned(text: str) -> str:
    # There may be a hundred thousand.
    return " ".join(text.split()) if text.isascii() and text.isprintable() else cleaned(text)


#: Unpacked; Ding's German dictionary has 26 MB.
MAX_DICTIONARY_BYTES = 100_000_000
#: A longer column is not a word, and is not cleaned.
_MAX_CHARACTERS = 10_000
#: As in "DE-EN vocabulary database", and in the name of Ding's file.
_DIRECTION = re.compile(r"(?<![a-z])([a-z]{2})-([a-z]{2})(?![a-z])", re.IGNORECASE)
_HEADER_LINES = 10
#: {m}, [med.], (of sth.), <pl>
_NOTE = re.compile(r"\{[^{}]*\}|\[[^\[\]]*\]|\([^()]*\)|<[^<>]*>")
#: What stands for any person or thing.
_PLACEHOLDER = re.compile(
    r"(?<!\w)(?:sb|sth|so|jd|jdn|jdm|jds|jmd|jmdn|jmdm|etw|qn|qc|alg)\.(?:/\w+\.)*(?:'s)?|…|\.\.\."
)
_NOTED = frozenset("{}[]()<>")
#: A headword of FreeDict as dictd has it: its pronunciation follows, and perhaps its grammar.
_HEADWORD = re.compile(r"(\S[^/\n]*?) /[^/\n]*/[^/\n]*")
_TEI = "{http://www.tei-c.org/ns/1.0}"

#: Words that mean the same, what each of them means, and how probable that is.
_Entry = tuple[Sequence[str], Sequence[str], float]


def read_dictionary(path: Path, direction: Direction) -> Lexicon:
    """The dictionary in a file, of either direction if it says which it has.

    Raises:
        InputError: for a file that cannot be read, is too large or is not a dictionary.
    """
    content = read_text(path, "the dictionary", MAX_DICTIONARY_BYTES, "keep the words that speech needs")
    entries: dict[str, dict[str, float]] = {}
    for sources, targets, probability in _entries(path, content, direction):
        for source in sources:
            words = words_of(source)
            if 0 < len(words) <= MAX_WORDS:
                known = entries.setdefault(" ".join(words).casefold(), {})
                for target in targets[: MAX_TRANSLATIONS - len(known)]:
                    known.setdefault(target, probability)
    if not entries:
        raise InputError(
            f"{path} is not a dictionary; write a word, a tab and its translation on each line, or give "
            "a file of dict.cc, Ding or FreeDict"
        )
    return lexicon_of(
        {phrase: [Translation(*one) for one in known.items()] for phrase, known in entries.items()}
    )


def _entries(path: Path, content: str, direction: Direction) -> Iterator[_Entry]:
    """The entries of a dictionary in the direction wanted, cleaned."""
    if content.lstrip()[:1] == "<":
        found = _of_tei(path, content)
    elif "00-database" in content[:_MAX_CHARACTERS]:
        found = _of_dictd(content)
    else:
        found = _of_lines(content)
    is_reversed = _is_reversed(path, content, direction)
    for one, other, probability in found:
        one, other = _phrases(one), _phrases(other)
        if one and other:
            yield (other, one, probability) if is_reversed else (one, other, probability)


def _is_reversed(path: Path, content: str, direction: Direction) -> bool:
    """Whether the file's name or its first lines say that it has the other direction."""
    first = [line for line in content[:_MAX_CHARACTERS].split("\n")[:_HEADER_LINES] if line.startswith("#")]
    for text in (*first, path.name):
        for found in _DIRECTION.findall(text):
            codes = tuple(map(str.lower, found))
            if codes in {
                (direction.source.code, direction.target.code),
                (direction.target.code, direction.source.code),
            }:
                return codes[0] == direction.target.code
    return False


def _of_lines(content: str) -> Iterator[_Entry]:
    for line in content.splitlines():
        if line.startswith("#") or len(line) > _MAX_CHARACTERS:
            continue
        if "\t" in line:
            source, target, *more = line.split("\t")
            yield [_plain(source)], [_plain(target)], _probability(more[0] if more else "")
        elif "::" in line:
            yield from _of_ding(_plain(line))


def _probability(percent: str) -> float:
    return min(100, int(percent)) / 100 if percent.isascii() and percent.isdigit() else 1.0


def _of_ding(line: str) -> Iterator[_Entry]:
    """Between bars the forms of a word, in the same order in both languages; between semicolons synonyms."""
    one, _, other = line.partition("::")
    for source, target in zip(one.split("|"), other.split("|"), strict=False):
        yield source.split(";"), target.split(";"), 1.0


def _of_dictd(content: str) -> Iterator[_Entry]:
    """A headword stands at the beginning of a line, its translations in the next; examples are indented."""
    headword = None
    for line in content.splitlines():
        if len(line) > _MAX_CHARACTERS or line[:1] in ("", " "):
            continue
        if begins := _HEADWORD.fullmatch(line):
            headword = begins[1]
        elif headword is not None:
            yield [_plain(headword)], _plain(line).split(","), 1.0
            headword = None


def _of_tei(path: Path, content: str) -> Iterator[_Entry]:
    if "<!ENTITY" in content:
        raise InputError(f"{path} defines entities; give a dictionary without them")
    try:
        root = ElementTree.fromstring(content.encode())
    except ElementTree.ParseError as error:
        raise InputError(f"{path} is damaged XML ({error}); fetch it again") from None
    for entry in root.iter(f"{_TEI}entry"):
        forms = [one.text or "" for one in entry.iterfind(f"{_TEI}form/{_TEI}orth")]
        targets = [one.text or "" for one in entry.iterfind(f".//{_TEI}cit[@type='trans']/{_TEI}quote")]
        yield [_plain(one) for one in forms], [_plain(one) for one in targets], 1.0


def _plain(text: str) -> str:
    """A text without the notes for its reader."""
    if len(text) > _MAX_CHARACTERS:
        return ""
    if "&" in text:
        text = html.unescape(text)
    if not _NOTED.isdisjoint(text):
        text = _NOTE.sub("", text)
    return _PLACEHOLDER.sub("", text) if "." in text or "…" in text else text


def _phrases(texts: Sequence[str]) -> list[str]:
    """Those of the words and phrases that are short enough to be looked up, and nothing but words."""
    phrases = []
    for text in texts:
        words = text.split()
        if words[:1] == ["to"]:
            del words[0]
        phrase = " ".join(words).strip(" ,")
        if not phrase.isascii() or not phrase.isprintable():
            phrase = cleaned(phrase)
        if phrase and len(words) <= MAX_WORDS and _NOTED.isdisjoint(phrase):
            phrases.append(phrase)
    return phrases
