"""Reads a dictionary: lines of a word, a tab and a translation, or what dict.cc, Ding or FreeDict give away.

What people wrote for readers is cleaned: gender, field, pronunciation and placeholders are left out, and so
are entries too long to be looked up.
"""

import gzip
import html
import re
import stat
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

from operators.errors import InputError, unreadable
from operators.glossary import MAX_TRANSLATIONS, MAX_WORDS, Lexicon, Translation, lexicon_of, words_of
from operators.languages import Direction
from operators.text import cleaned

#: Unpacked; Ding's German dictionary has 26 MB.
MAX_DICTIONARY_BYTES = 100_000_000
#: A longer column is not a word, and is not cleaned.
_MAX_CHARACTERS = 10_000
_GZIP = b"\x1f\x8b"
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
    entries: dict[str, dict[str, float]] = {}
    for sources, targets, probability in _entries(path, _content(path), direction):
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


def _content(path: Path) -> str:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f"{path} is not a regular file; put the dictionary in a file first")
        with path.open("rb") as raw:
            is_packed = raw.read(2) == _GZIP
        with gzip.open(path) if is_packed else path.open("rb") as file:
            data = file.read(MAX_DICTIONARY_BYTES + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} is damaged ({error}); fetch it again") from None
    except OSError as error:
        raise InputError(unreadable(path, error)) from None
    if len(data) > MAX_DICTIONARY_BYTES:
        raise InputError(
            f"{path} has more than {MAX_DICTIONARY_BYTES:,} bytes; keep the words that speech needs"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}, line {line}: it is not UTF-8; save the file as UTF-8") from None


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
