"""Reads texts that two files give the same name: string tables, dialogues, Qt's catalogues."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

from corpora_read import Pair, entries, lines

LUA_STRING = r'"((?:[^"\\]|\\.)*)"'
QT_MESSAGES, QT_HASHES = 0x69, 0x42
QT_END, QT_TRANSLATION, QT_OBSOLETE, QT_SOURCE, QT_STRINGS = 1, 3, 5, 6, (3, 6, 7, 8)
QT_HEADER = 16

Table = Callable[[str], dict[str, str]]


def joined(parse: Table) -> Callable[[Path, Path], Iterator[Pair]]:
    """A reader of two files of named texts."""

    def read(english: Path, other: Path) -> Iterator[Pair]:
        theirs = parse(other.read_text("utf-8", "replace"))
        for name, text in parse(english.read_text("utf-8", "replace")).items():
            if name in theirs:
                yield from lines(text, theirs[name])

    return read


def freeorion(text: str) -> dict[str, str]:
    """FreeOrion's string tables: a name, then a line or a text between three apostrophes."""
    found = re.findall(r"^([A-Z][A-Z0-9_]+)\n(?:'''((?s:.*?))'''|(.+))$", text, re.MULTILINE)
    return {name: long or short for name, long, short in found}


def properties(text: str) -> dict[str, str]:
    r"""Java's properties: ``name=text``, a line each, with ``\n`` for a line's end."""
    found = re.findall(r"^([\w.]+)=((?:.|\\\n)*)$", text, re.MULTILINE)
    return {name: value.replace("\\\n", "").replace("\\n", "\n\n") for name, value in found}


def dialogues(_english: Path, other: Path) -> Iterator[Pair]:
    """Lines of a Lua script of Fish Fillets, which holds the English with each translation."""
    text = other.read_text("utf-8", "replace")
    yield from re.findall(rf"dialogId\([^)]*?{LUA_STRING}\)\s*dialogStr\({LUA_STRING}\)", text)


def named_catalogues(english: Path, other: Path) -> Iterator[Pair]:
    """Entries of two compiled catalogues whose sources are names, or English where the first lacks them."""
    texts = dict(entries(english))
    for source, translation in entries(other):
        yield from lines(texts.get(source, source), translation)


def qt_catalogue(path: Path) -> Iterator[Pair]:
    """The entries of a compiled Qt catalogue (.qm) that keeps its sources; of plural forms the first."""
    sections = _sections(path.read_bytes())
    hashes, messages = sections.get(QT_HASHES, b""), sections.get(QT_MESSAGES, b"")
    for _, offset in struct.iter_unpack(">II", hashes[: len(hashes) // 8 * 8]):
        message = _message(messages, offset)
        if QT_SOURCE in message and QT_TRANSLATION in message:
            source, translation = message[QT_SOURCE], message[QT_TRANSLATION]
            yield from lines(source.decode("utf-8", "replace"), translation.decode("utf-16-be", "replace"))


def _sections(content: bytes) -> dict[int, bytes]:
    found = {}
    offset = QT_HEADER
    while offset + 5 <= len(content):
        tag, size = struct.unpack_from(">BI", content, offset)
        found[tag] = content[offset + 5 : offset + 5 + size]
        offset += 5 + size
    return found


def _message(messages: bytes, offset: int) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    while offset + 5 <= len(messages) and (tag := messages[offset]) != QT_END:
        (size,) = struct.unpack_from(">I", messages, offset + 1)
        offset += 5
        if tag in QT_STRINGS and size < len(messages):
            found.setdefault(tag, messages[offset : offset + size])
            offset += size
        elif tag not in (*QT_STRINGS, QT_OBSOLETE):
            break
    return found
