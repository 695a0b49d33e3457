"""Reads a glossary, whose terms bind, and a dictionary, which advises: a term, a tab, its translation."""

from pathlib import Path

from connectors.files.contents import read_text
from operators.errors import InputError
from operators.glossary import (
    MAX_TRANSLATIONS,
    MAX_WORDS,
    Glossary,
    Lexicon,
    Translation,
    spelling,
    words_of,
)
from operators.text import cleaned

#: Some 200,000 terms of ordinary length, in 160 MB of memory.
MAX_GLOSSARY_BYTES = 10_000_000
MAX_DICTIONARY_BYTES = 100_000_000
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


def read_dictionary(path: Path) -> Lexicon:
    """The dictionary in a file: a third column may have a translation's probability, in percent.

    Lines that begin with ``#``, have no translation or are too long to be looked up are ignored.

    Raises:
        InputError: for a file that cannot be read, is too large or is not a dictionary.
    """
    content = read_text(path, "the dictionary", MAX_DICTIONARY_BYTES, "keep the words that speech needs")
    lexicon: dict[str, list[Translation]] = {}
    for line in content.split("\n"):
        source, *columns = line.split("\t")
        if not columns or source.startswith("#") or max(map(len, (source, columns[0]))) > MAX_TERM_CHARACTERS:
            continue
        words, target = words_of(_cleaned(source)), _cleaned(columns[0])
        if 0 < len(words) <= MAX_WORDS and target:
            known = lexicon.setdefault(" ".join(words).casefold(), [])
            if len(known) < MAX_TRANSLATIONS and target not in (one.text for one in known):
                percent = columns[1] if len(columns) > 1 else ""
                is_number = percent.isascii() and percent.isdigit() and len(percent) <= len("100")
                known.append(Translation(target, min(100, int(percent)) / 100 if is_number else 1.0))
    if not lexicon:
        raise InputError(f"{path} is not a dictionary; write a word, a tab and its translation on each line")
    return lexicon
