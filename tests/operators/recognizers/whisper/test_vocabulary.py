"""Tokens become text byte by byte, and a language is asked for by its token."""

from functools import cache
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from operators.recognizers.whisper.folder import Vocabulary, load_vocabulary

from operators.errors import InputError, UsageError
from operators.languages import language
from tests.operators.recognizers.whisper.model_folder import TINY_EN

MARKS = ["<|startoftranscript|>", "<|en|>", "<|de|>", "<|transcribe|>", "<|nospeech|>", "<|notimestamps|>"]
# "Grüß" is spelled byte by byte in GPT-2's alphabet; a space is Ġ.
TEXT = ["Gr", "Ã¼", "Ã", "Ł", "Ġdich", "."]


def vocabulary(texts: int = 50257) -> Vocabulary:
    """A multilingual model has one more text token than an English one."""
    filling = [f"filling{number}" for number in range(texts - len(TEXT))]
    return Vocabulary([*TEXT, *filling, "<|endoftext|>", *MARKS], Path("whisper/vocabulary.txt"))


@cache
def english() -> Vocabulary:
    return load_vocabulary(TINY_EN)


def test_text_is_put_together_from_bytes_without_marks_and_characters_that_are_not_whole_yet() -> None:
    some = vocabulary()
    assert some.text([some.start, 0, 1, 2, 3, 4, 5, some.end]) == "Grüß dich."
    assert some.text([0, 1, 2]) == "Grü"


def test_a_multilingual_model_is_asked_for_a_language() -> None:
    some = vocabulary()
    start = some.start

    assert some.prompt(language("German")) == [start, start + 2, start + 3, start + 5]
    with pytest.raises(UsageError, match="does not know French"):
        some.prompt(language("fr"))


def test_an_english_model_is_for_english() -> None:
    some = vocabulary(50256)

    assert some.prompt(language("en")) == [some.start, some.start + 5]
    with pytest.raises(UsageError, match="knows English only; name a multilingual one for German"):
        some.prompt(language("German"))


@pytest.mark.parametrize("name", ["vocabulary.txt", "vocabulary.json"])
def test_both_kinds_of_file_are_read(name: str, tmp_path: Path) -> None:
    # U+0085 ends a line for str.splitlines, and is a character of tokens.
    spellings = [*TEXT, "a\u0085b", "<|endoftext|>", *MARKS]
    text = "\n".join(spellings) + "\n"
    (tmp_path / name).write_bytes(msgspec.json.encode(spellings) if "json" in name else text.encode())

    assert len(load_vocabulary(tmp_path)) == len(spellings)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"", b"a\nb\n"])
def test_what_is_no_vocabulary_is_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "vocabulary.txt").write_bytes(data)

    with pytest.raises(InputError, match=r"vocabulary\.txt"):
        load_vocabulary(tmp_path)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        # As GPT-2, whose vocabulary the English models have, encodes them.
        ("Hello world", [15496, 995]),
        (" the weather isn't", [262, 6193, 2125, 470]),
        ("", []),
    ],
)
def test_text_becomes_the_tokens_that_it_is_spelled_with(text: str, tokens: list[int]) -> None:
    assert english().tokenize(text.encode()) == tokens


@given(st.binary(max_size=40))
def test_tokens_are_the_text_again_wherever_it_is_cut(text: bytes) -> None:
    assert b"".join(map(english().piece, english().tokenize(text))) == text
