"""Captions as rows, and what of them is settled; the status line: what it says, and what it leaves out."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.view import Status, roll_up, row_width, status_text
from operators.text import cleaned, width

any_text = st.text(st.characters(), max_size=80) | st.text(
    " abcdeé漢字、。「」👩‍👩‍👧️한각ᄀ\u0301\u00ad\x1b[31m\u202e", max_size=80
)


def squeezed(text: str) -> str:
    return text.replace(" ", "")


names = st.sampled_from(["", "Anna: ", "漢字: ", "דנה: "])


@given(any_text, st.integers(2, 50), st.integers(0, 80), st.booleans(), st.integers(1, 2), names)
@settings(deadline=None)
def test_an_open_caption_takes_two_rows_at_most_and_ends_with_the_newest_text(
    text: str, columns: int, stands: int, goes_on: bool, rows: int, name: str
) -> None:
    text = cleaned(text)
    shown = roll_up(text, columns, stands=stands, goes_on=goes_on, rows=rows, name=name)
    assert len(shown) <= rows
    assert all(row_width(row) <= columns for row in shown)
    drawn = squeezed("".join(row.name + row.plain + row.dim for row in shown))
    assert squeezed(name + text + "…" * goes_on).endswith(drawn)
    assert not any(row.name for row in shown[1:])
    # All that is settled is plain, and nothing else.
    new = squeezed(text[stands:] + "…" * goes_on)
    assert squeezed("".join(row.dim for row in shown)) == (new[-len(drawn) :] if drawn else "")
    assert not any(row.dim and after.plain for row, after in pairwise(shown))


@pytest.mark.parametrize(
    ("text", "columns", "stands", "goes_on", "rows"),
    [
        ("one two three", 7, 7, False, [("one two", ""), ("", "three")]),
        ("one two three", 9, 3, True, [("one", " two"), ("", "three…")]),
        ("最好的时代", 6, 2, False, [("最好", "的"), ("", "时代")]),
        # The ellipsis of a full line moves no word.
        ("one two", 8, 7, True, [("one two", "…")]),
        ("one two", 7, 7, True, [("one two", ""), ("", "…")]),
        ("", 7, 0, True, [("", "…")]),
        ("", 7, 0, False, []),
    ],
)
def test_what_is_not_settled_is_dim(
    text: str, columns: int, stands: int, goes_on: bool, rows: list[tuple[str, str]]
) -> None:
    shown = roll_up(text, columns, stands=stands, goes_on=goes_on)
    assert [(row.plain, row.dim) for row in shown] == rows


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"level_dbfs": -33.0, "elapsed_s": 754.6, "lag_s": 0.84}, "[████▌     ]  12:34  lag 0.8 s"),
        ({"dropped_s": 2.44, "overtaken": 3}, "2.4 s of sound lost  3 superseded"),
        ({"elapsed_s": 5, "duration_s": 3905}, "0:05 of 1:05:05"),
    ],
)
def test_the_status_tells_what_is_known_and_losses_if_there_are_any(known: Any, said: str) -> None:
    assert status_text(Status(state="speech", **known), 80) == f"speech  {said}"


@pytest.mark.parametrize(
    ("level_dbfs", "length"),
    [(-60.0, 0), (-90.0, 0), (float("-inf"), 0), (float("nan"), 0), (-30.0, 5), (0.0, 10), (6.0, 10)],
)
def test_the_meter_goes_from_minus_60_to_0_dbfs(level_dbfs: float, length: int) -> None:
    status = Status(state="speech", level_dbfs=level_dbfs)
    for encoding, bar in (("utf-8", "█"), ("ascii", "#"), ("latin-1", "#")):
        assert status_text(status, 80, encoding) == f"speech  [{bar * length:10}]"


def test_hostile_words_stay_words_in_one_line() -> None:
    assert status_text(Status(state="\x1b[2Jgone\r\n\x1b]0;title\x07"), 80) == "gone"
    assert status_text(Status(state="\x1b[2J"), 80) == "-"


@given(st.text(), st.floats(), st.floats(0, 1e9), st.integers(2, 60), st.sampled_from(["utf-8", "ascii"]))
def test_it_fits_whatever_the_width(
    state: str, level_dbfs: float, seconds: float, columns: int, encoding: str
) -> None:
    status = Status(
        state=state, level_dbfs=level_dbfs, elapsed_s=seconds, lag_s=seconds, dropped_s=seconds, overtaken=7
    )
    text = status_text(status, columns, encoding)
    assert 0 < width(text) <= columns
    assert text.encode(encoding)
