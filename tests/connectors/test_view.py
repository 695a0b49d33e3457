"""Captions as rows, and what of them is settled; the status line: what it says, and what it leaves out."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.view import CaptionRow, Status, roll_up, row_width, status_text
from operators.text import cleaned, width

any_text = st.text(st.characters(), max_size=80) | st.text(
    " abcdeé漢字、。「」👩‍👩‍👧️한각ᄀ\u0301\u00ad\x1b[31m\u202e", max_size=80
)


def squeezed(text: str) -> str:
    return text.replace(" ", "")


@given(any_text, st.integers(2, 50), st.integers(0, 80), st.booleans(), st.integers(1, 2))
@settings(deadline=None)
def test_an_open_caption_takes_two_rows_at_most_and_ends_with_the_newest_text(
    text: str, columns: int, stands: int, goes_on: bool, rows: int
) -> None:
    text = cleaned(text)
    shown = roll_up(text, columns, stands=stands, goes_on=goes_on, rows=rows)
    assert len(shown) <= rows
    assert all(row_width(row) <= columns for row in shown)
    drawn = squeezed("".join(row.plain + row.dim for row in shown))
    assert squeezed(text + "…" * goes_on).endswith(drawn)
    # All that is settled is plain, and nothing else.
    new = squeezed(text[stands:] + "…" * goes_on)
    assert squeezed("".join(row.dim for row in shown)) == (new[-len(drawn) :] if drawn else "")
    assert not any(row.dim and after.plain for row, after in pairwise(shown))


def test_what_is_not_settled_is_dim() -> None:
    assert roll_up("one two three", 7, stands=7, goes_on=False) == [
        CaptionRow("one two"),
        CaptionRow("", "three"),
    ]
    assert roll_up("one two three", 9, stands=3, goes_on=True) == [
        CaptionRow("one", " two"),
        CaptionRow("", "three…"),
    ]
    assert roll_up("最好的时代", 6, stands=2, goes_on=False) == [
        CaptionRow("最好", "的"),
        CaptionRow("", "时代"),
    ]


def test_the_ellipsis_of_a_full_line_moves_no_word() -> None:
    assert roll_up("one two", 8, stands=7, goes_on=True) == [CaptionRow("one two", "…")]
    assert roll_up("one two", 7, stands=7, goes_on=True) == [CaptionRow("one two"), CaptionRow("", "…")]
    assert roll_up("", 7, stands=0, goes_on=True) == [CaptionRow("", "…")]
    assert roll_up("", 7, stands=0, goes_on=False) == []


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (
            Status(state="speech", level_dbfs=-33.0, elapsed_s=754.6, lag_s=0.84),
            "[████▌     ]  12:34  lag 0.8 s",
        ),
        (Status(state="speech", dropped_s=2.44, overtaken=3), "2.4 s of sound lost  3 overtaken"),
        (Status(state="speech", elapsed_s=5, duration_s=3905), "0:05 of 1:05:05"),
    ],
)
def test_the_status_tells_what_is_known_and_losses_if_there_are_any(status: Status, said: str) -> None:
    assert status_text(status, 80) == f"speech  {said}"


@pytest.mark.parametrize(
    ("level_dbfs", "meter"),
    [
        (-60.0, "          "),
        (-90.0, "          "),
        (float("-inf"), "          "),
        (float("nan"), "          "),
        (-30.0, "█████     "),
        (0.0, "██████████"),
        (6.0, "██████████"),
    ],
)
def test_the_meter_goes_from_minus_60_to_0_dbfs(level_dbfs: float, meter: str) -> None:
    assert status_text(Status(state="speech", level_dbfs=level_dbfs), 80) == f"speech  [{meter}]"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_an_encoding_without_blocks_gets_a_meter_of_hashes(encoding: str) -> None:
    status = Status(state="speech", level_dbfs=-30)
    assert status_text(status, 80, encoding) == "speech  [#####     ]"


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
