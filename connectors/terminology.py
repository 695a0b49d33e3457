"""Reads a glossary: a term, a tab, its translation."""

from pathlib import Path

from connectors.files.contents import read_text
from operators.errors import InputError
from operators.glossary import Glossary, spelling
from operators.text import cleaned

#: Some 200,000 terms of ordinary length, in 160 MB of memory.
MAX_GLOSSARY_BYTES = 10_000_000
#: A longer text is a sentence and not a term.
MAX_TERM_CHARACTERS = 200


def read_glossary(path: Path, without: str = "") -> Glossary:
    """The glossary in a file; empty lines and columns after the second are ignored.

    Args:
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
