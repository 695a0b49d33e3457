"""Glossaries: what is read, and what is refused in one sentence."""

import gzip
import os
from pathlib import Path

import pytest

from connectors import terminology
from connectors.terminology import read_glossary
from operators.errors import InputError


def written(folder: Path, content: bytes | str) -> Path:
    path = folder / "words"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refused(path: Path) -> str:
    with pytest.raises(InputError) as error:
        read_glossary(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_file_that_is_missing_none_or_too_large_when_unpacked_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminology, "MAX_GLOSSARY_BYTES", 100_000)
    assert "there is no such file" in refused(tmp_path / "none")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        assert "is not a regular file" in refused(path)
    assert "has more than 100,000 bytes" in refused(written(tmp_path, gzip.compress(bytes(100_001), 1)))


def test_terms_are_read_with_marks_line_ends_notes_and_empty_lines(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbftoken\tTo\x1b[31mken\x07\r\n\r\n  node \t Knoten\tsee talk 3\nNLP\tNLP\nnlp\tNLP"
    found = dict(read_glossary(written(tmp_path, content)).occurring("Tokens, nodes and NLP"))
    assert found == {"Token": 1, "Knoten": 1, "NLP": 1}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("\n \t \n\n", " has no terms; write one on each line"),
        ("a\tb\ntoken Token\n", ", line 2: there is no tab"),
        ("\tToken\n", ", line 1: there is no word before the tab"),
        ("-\tToken\n", ", line 1: there is no word before the tab"),
        ("token\t \n", ", line 1: there is nothing after the tab"),
        ("token\tToken\nx\ty\nToken\tZeichen\n", ", line 3: the term of line 1 has another translation here"),
        (b"token\tToken\ncaf\xe9\tx\n", ", line 2: it is not UTF-8; save the file as UTF-8"),
        (gzip.compress(b"feral\twild\n", mtime=0)[:-6], " is damaged"),
        ("x" * 201 + "\tToken", ", line 1: the term or its translation has more than 200 characters"),
        ("x\t" + "y" * 9_000_000, ", line 1: the term or its translation has more than 200 characters"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(
    tmp_path: Path, content: bytes | str, sentence: str
) -> None:
    path = written(tmp_path, content)
    assert f"{path}{sentence}" in refused(path)
