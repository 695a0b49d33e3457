"""Glossaries and dictionaries: what is read of each format, and what is refused in one sentence."""

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from connectors import terminology
from connectors.terminology import read_dictionary, read_glossary
from operators.errors import InputError
from operators.languages import Direction

EN_DE, DE_EN = Direction.of("en", "de"), Direction.of("de", "en")
TABS = """# mine
feral\twild\tadj
Feral\tverwildert
\t nobody
to harvest\ternten
the whole length of the way\tzu lang
"""
DICT_CC = """# DE-EN vocabulary database\tcompiled by dict.cc
verwildert [Tier] {adj}\tferal\tadj\t[zool.]
etw.  ernten\tto harvest sth. [crops]\tverb
Ernte {f} (von etw.)\tharvest\tnoun
"""
DING = """# Version :: devel
verwildert {adj} [zool.]; wild (von Tieren; Pflanzen) :: feral
Ernte {f}; Lese {f} [agr.] | Ernten {pl} :: harvest | harvests
"""
DICTD = """
00-database-short
 English - German
feral /fˈiəɹəl/ <adj>
wild, verwildert
      "feral cats"  - verwilderte Katzen
harvest /hˈɑːvɪst/
Ernte <fem, sg>
"""
TEI = """<?xml version="1.0" encoding="UTF-8"?>
<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body>
<entry><form><orth>feral</orth></form><sense><cit type="trans"><quote>wild</quote></cit></sense></entry>
<entry><form><orth>harvest</orth></form><sense><cit type="trans"><quote>Ernte</quote></cit>
<cit type="example"><quote>a rich harvest</quote></cit></sense></entry>
</body></text></TEI>
"""


def written(folder: Path, content: bytes | str, name: str = "words") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def as_dictionary(path: Path) -> Any:
    return read_dictionary(path, EN_DE)


def refused(path: Path, read: Callable[[Path], Any]) -> str:
    with pytest.raises(InputError) as error:
        read(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("read", [read_glossary, as_dictionary])
def test_a_file_that_is_missing_none_or_too_large_when_unpacked_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path], Any]
) -> None:
    monkeypatch.setattr(terminology, "MAX_DICTIONARY_BYTES", 100_000)
    monkeypatch.setattr(terminology, "MAX_GLOSSARY_BYTES", 100_000)
    assert "there is no such file" in refused(tmp_path / "none", read)
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        assert "is not a regular file" in refused(path, read)
    bomb = written(tmp_path, gzip.compress(bytes(100_001), 1))
    assert "has more than 100,000 bytes" in refused(bomb, read)


# Glossaries


def test_terms_are_read_with_marks_line_ends_notes_and_empty_lines(tmp_path: Path) -> None:
    path = written(
        tmp_path, b"\xef\xbb\xbftoken\tToken\r\n\r\n  node \t Knoten\tsee talk 3\nNLP\tNLP\nnlp\tNLP"
    )
    assert dict(read_glossary(path).occurring("Tokens, nodes and NLP")) == {"Token": 1, "Knoten": 1, "NLP": 1}


def test_the_same_line_twice_is_no_error(tmp_path: Path) -> None:
    assert read_glossary(written(tmp_path, "token\tToken\nToken\tToken\n")).occurring("token")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "has no terms; write one on each line"),
        ("\n \t \n\n", "has no terms"),
        ("a\tb\ntoken Token\n", "line 2: there is no tab; write the term, a tab, and its translation"),
        ("\tToken\n", "line 1: there is no word before the tab"),
        ("-\tToken\n", "line 1: there is no word before the tab"),
        ("token\t \n", "line 1: there is nothing after the tab"),
        (
            "token\tToken\nx\ty\nToken\tZeichen\n",
            "line 3: the term of line 1 has another translation here, 'Zeichen'",
        ),
        (b"token\tToken\ncaf\xe9\tx\n", "line 2: it is not UTF-8; save the file as UTF-8"),
        ("token\tToken\n".encode("utf-16"), "line 1: it is not UTF-8"),
        ("x" * 201 + "\tToken", "line 1: the term or its translation has more than 200 characters"),
        ("x\t" + "y" * 9_000_000, "line 1: the term or its translation has more than 200 characters"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(
    tmp_path: Path, content: bytes | str, sentence: str
) -> None:
    path = written(tmp_path, content)
    assert f"{path}{', ' if sentence.startswith('line') else ' '}{sentence}" in refused(path, read_glossary)


def test_a_translation_gives_a_terminal_nothing_to_obey(tmp_path: Path) -> None:
    (term,) = read_glossary(written(tmp_path, "token\tTo\x1b[31mken\x07\n")).occurring("token")
    assert term.target == "Token"


def test_of_twenty_thousand_terms_those_in_a_text_are_found(tmp_path: Path) -> None:
    path = written(tmp_path, "".join(f"the term {number}\tZiel {number}\n" for number in range(20_000)))
    assert dict(read_glossary(path).occurring("the term 7 and the term 19999")) == {
        "Ziel 7": 1,
        "Ziel 19999": 1,
    }


# Dictionaries


def found(path: Path, word: str, direction: Direction = EN_DE) -> list[str]:
    return [one.text for one in read_dictionary(path, direction).find(word) or ()]


@pytest.mark.parametrize(
    ("content", "name", "feral", "harvest"),
    [
        (TABS, "words.tsv", ["wild", "verwildert"], ["ernten"]),
        (DICT_CC, "words.txt", ["verwildert"], ["ernten", "Ernte"]),
        (DING, "de-en", ["verwildert", "wild"], ["Ernte", "Lese"]),
        (DICTD, "eng-deu.dict", ["wild", "verwildert"], ["Ernte"]),
        (TEI, "eng-deu.tei", ["wild"], ["Ernte"]),
    ],
)
def test_the_words_of_each_format_are_read_without_the_notes_for_readers(
    tmp_path: Path, content: str, name: str, feral: list[str], harvest: list[str]
) -> None:
    path = written(tmp_path, content, name)
    assert (found(path, "feral"), found(path, "harvest")) == (feral, harvest)
    packed = written(tmp_path, gzip.compress(content.encode()), f"{name}.dz")
    assert found(packed, "feral") == feral


def test_a_dictionary_that_names_its_direction_is_read_in_both(tmp_path: Path) -> None:
    for content, name in ((DICT_CC, "words.txt"), (DING, "de-en")):
        assert found(written(tmp_path, content, name), "verwildert", DE_EN) == ["feral"]


def test_a_probability_in_the_third_column_counts(tmp_path: Path) -> None:
    path = written(tmp_path, "feral\twild\t70\nferal\tverwildert\tadj\n")
    translations = read_dictionary(path, EN_DE).find("feral")
    assert translations is not None
    assert [one.probability for one in translations] == [0.7, 1.0]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is not a dictionary; write a word, a tab and its translation on each line"),
        ("some prose\nwithout a tab\n", "is not a dictionary"),
        ("feral\t\x1b[31m\n", "is not a dictionary"),
        ("x" * 20_000 + "\ty", "is not a dictionary"),
        (b"feral\twild\ncaf\xe9\tx\n", "line 2: it is not UTF-8; save the file as UTF-8"),
        (gzip.compress(b"feral\twild\n", mtime=0)[:-6], "is damaged"),
        ("<TEI><entry>", "is damaged XML"),
        ('<!DOCTYPE a [<!ENTITY a "aaaa">]><TEI>&a;</TEI>', "defines entities"),
        ("<TEI></TEI>", "is not a dictionary"),
    ],
)
def test_what_is_no_dictionary_is_refused_in_one_sentence(
    tmp_path: Path, content: bytes | str, sentence: str
) -> None:
    path = written(tmp_path, content)
    assert sentence in refused(path, as_dictionary)
