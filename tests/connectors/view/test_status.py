"""The status line: what it says, and what it leaves out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.view import Status, status_text
from operators.text import width


def test_it_says_what_goes_on_how_loud_since_when_and_how_late() -> None:
    status = Status(state="speech", level_dbfs=-33.0, elapsed_s=754.6, lag_s=0.84)
    assert status_text(status, 80) == "speech  [████▌     ]  12:34  lag 0.8 s"


def test_what_is_not_known_is_not_told() -> None:
    assert status_text(Status(state="no microphone"), 80) == "no microphone"


def test_losses_are_told_when_there_are_any() -> None:
    assert status_text(Status(state="speech", dropped_s=2.44, overtaken=3), 80) == (
        "speech  2.4 s of sound lost  3 overtaken"
    )


def test_a_recording_says_how_far_it_is() -> None:
    status = Status(state="translating the recording", elapsed_s=5, duration_s=3905)
    assert status_text(status, 80) == "translating the recording  0:05 of 1:05:05"


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
