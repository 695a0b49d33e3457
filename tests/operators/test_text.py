"""Text in columns: how lines break, what is safe to show, and what of it stood before."""

import unicodedata

import pytest
import wcwidth
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.text import cleaned, settled, width, wrap

any_text = st.text(st.characters(), max_size=80) | st.text(
    " abcdeé漢字、。「」👩‍👩‍👧️한각ᄀ\u0301\u00ad\x1b[31m\u202e", max_size=80
)


def squeezed(text: str) -> str:
    return text.replace(" ", "")


FAMILY = "👩\u200d👩\u200d👧"


@pytest.mark.parametrize(
    ("text", "columns", "lines"),
    [
        ("It was the best of times", 10, ["It was the", "best of", "times"]),
        ("ein Rindfleischetikett", 10, ["ein", "Rindfleisc", "hetikett"]),
        ("这是最好的时代", 6, ["这是最", "好的时", "代"]),
        ("これはtestです", 8, ["これは", "testです"]),
        ("时代好。是", 6, ["时代", "好。是"]),
        ("时代「好」", 6, ["时代", "「好」"]),
        ("il dit «\u00a0oui\u00a0»", 9, ["il dit", "«\u00a0oui\u00a0»"]),
        (FAMILY * 3, 4, [FAMILY * 2, FAMILY]),
        ("🇩🇪🇫\u0301🇷", 2, ["🇩🇪", "🇫\u0301", "🇷"]),
    ],
    ids=[
        "at spaces", "inside a word that is longer than a line", "anywhere in Chinese", "two columns each",
        "not before punctuation", "not after an opening bracket", "at no no-break space", "in no character",
        "between flags",
    ],
)  # fmt: skip
def test_lines_break_where_a_reader_expects_it(text: str, columns: int, lines: list[str]) -> None:
    assert wrap(text, columns) == lines


@given(any_text, st.integers(2, 50))
def test_no_line_is_wider_than_the_columns_and_no_text_is_lost(text: str, columns: int) -> None:
    text = cleaned(text)
    lines = wrap(text, columns)
    assert all(0 <= width(line) <= columns for line in lines)
    assert squeezed("".join(lines)) == squeezed(text)


@given(st.text("abc déфж漢字かなカ、。 ", max_size=120), st.integers(2, 50))
def test_the_width_is_the_one_that_terminals_count(text: str, columns: int) -> None:
    assert all(wcwidth.wcswidth(line) <= columns for line in wrap(cleaned(text), columns))


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[1;1Hgone", "gone"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred", "red"),
        ("\x1bP+q544e\x1b\\x", "x"),
        ("\x1bcreset", "reset"),
        ("\x1b]never ended", "never ended"),
        ("\x1b\x1b[31m[31mnested", "[31mnested"),
        ("a\r\nb\tc\x08\x00\x7fd\u2028e", "a b c d e"),
        ("\u202egnp.exe\u2066\u2069", "gnp.exe"),
        ("soft\u00adhyphen\ufeff\u200b", "softhyphen"),
        ("half \ud83d", "half \ufffd"),
    ],
)
def test_what_a_terminal_would_obey_is_taken_out(hostile: str, shown: str) -> None:
    assert cleaned(hostile) == shown


@given(any_text)
def test_cleaned_text_controls_nothing(text: str) -> None:
    safe = cleaned(text)
    assert not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in safe)
    assert not any("\u202a" <= char <= "\u202e" or "\u2066" <= char <= "\u2069" for char in safe)
    assert "  " not in safe
    assert cleaned(safe) == safe


def test_text_of_other_scripts_stays_as_it_is() -> None:
    for text in ("نیم\u200cفاصله", "हिन्दी", "ไทย", "👩\u200d👩\u200d👧 ❤️", "שלום \u200fעולם"):
        assert cleaned(text) == text


BEGUN = ("\x9d", "\x90", "\x1b]", "\x9b", "\x9dx", "「", "、", "\u0301", "🇩🇪")


@pytest.mark.parametrize("hostile", [*(begun * 100_000 for begun in BEGUN), "\x1b[" + "0" * 100_000])
def test_hostile_text_costs_no_more_than_its_length(hostile: str) -> None:
    # Each of these would take minutes if matching went back and forth.
    assert wrap(cleaned(hostile + " the text"), 42)[-1].endswith("text")


@pytest.mark.parametrize(
    ("before", "after", "stands"),
    [
        ("", "Es war", ""),
        ("Es war", "Es war", "Es war"),
        ("Es war", "Es war die", "Es war"),
        ("Es war die", "Es war", "Es war"),
        ("Es war die", "Es war das", "Es war "),
        ("ein Haus", "ein Hausbau", "ein "),
        ("ein Hausbau", "ein Haus", "ein "),
        ("aller Zeiten", "aller Zeiten, es", "aller Zeiten"),
        ("最好的时代", "最好的世界", "最好的"),
        ("cafés", "cafe", ""),
    ],
)
def test_settled_are_the_whole_words_that_stood_before(before: str, after: str, stands: str) -> None:
    assert after[: settled(before, after)] == stands


@given(any_text, any_text)
@settings(deadline=None)
def test_what_is_settled_stood_before(before: str, after: str) -> None:
    before, after = cleaned(before), cleaned(after)
    assert before.startswith(after[: settled(before, after)])
    assert settled(after, after) == len(after)
