"""Glossary files: what is read, and what is refused with its line."""

import os
from pathlib import Path

import pytest

from connectors.glossary import MAX_GLOSSARY_BYTES, read_glossary
from operators.errors import InputError


def written(folder: Path, content: bytes | str) -> Path:
    path = folder / "terms.tsv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refused(path: Path) -> str:
    with pytest.raises(InputError) as error:
        read_glossary(path)
    return str(error.value)


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
    assert f"{path}{', ' if sentence.startswith('line') else ' '}{sentence}" in refused(path)


def test_a_file_that_is_missing_too_large_or_none_is_refused(tmp_path: Path) -> None:
    assert "cannot be read: there is no such file" in refused(tmp_path / "none.tsv")
    assert "is not a regular file" in refused(tmp_path)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "is not a regular file" in refused(pipe)
    path = written(tmp_path, "a\tb\n")
    os.truncate(path, MAX_GLOSSARY_BYTES + 1)
    assert "has more than 10,000,000 bytes" in refused(path)


def test_a_translation_gives_a_terminal_nothing_to_obey(tmp_path: Path) -> None:
    (term,) = read_glossary(written(tmp_path, "token\tTo\x1b[31mken\x07\n")).occurring("token")
    assert term.target == "Token"


def test_of_twenty_thousand_terms_those_in_a_text_are_found(tmp_path: Path) -> None:
    path = written(tmp_path, "".join(f"the term {number}\tZiel {number}\n" for number in range(20_000)))
    assert dict(read_glossary(path).occurring("the term 7 and the term 19999")) == {
        "Ziel 7": 1,
        "Ziel 19999": 1,
    }
