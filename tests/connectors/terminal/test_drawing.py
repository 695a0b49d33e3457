"""Captions on the terminal, looked at through a small terminal and a real pty."""

import io
from collections.abc import Sequence
from functools import partial
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.terminal import open_screen, redraw
from connectors.view import CaptionRow, Status, row_width
from operators.errors import OutputError
from operators.events import Caption
from tests import subtitled
from tests.connectors.terminal.emulator import SmallTerminal, Tty

row = st.builds(CaptionRow, st.text("ab 漢", max_size=6), st.text("ab 漢", max_size=6))
rows_of = st.lists(row, min_size=1, max_size=4)


def shown(rows: list[CaptionRow]) -> tuple[list[str], list[str]]:
    return [(row.plain + row.dim).rstrip() for row in rows], [row.dim.strip() for row in rows]


@given(st.lists(rows_of, min_size=1, max_size=6), st.text("^C", max_size=3))
def test_redrawing_arrives_at_the_rows_whatever_was_there_and_was_typed(
    states: list[list[CaptionRow]], typed: str
) -> None:
    terminal, drawn = SmallTerminal(), [CaptionRow("")]
    for rows in states:
        terminal.send(typed if rows != drawn else "")
        terminal.send(redraw(drawn, rows))
        drawn = rows
        assert (terminal.rows, terminal.dim) == shown(rows)
        assert (terminal.row, terminal.column) == (len(rows) - 1, row_width(rows[-1]))


def test_only_rows_that_changed_are_written() -> None:
    old = [CaptionRow("Es war"), CaptionRow("die"), CaptionRow("", "speech")]
    assert redraw(old, old) == ""
    new = [old[0], CaptionRow("die", " beste"), old[2]]
    assert redraw(old, new) == "\x1b[2A\r\r\ndie\x1b[2m beste\x1b[22m\x1b[K\r\n\x1b[2mspeech\x1b[22m\x1b[K"


def caption(shown: str, *, is_final: bool = False, **fields: Any) -> Caption:
    return subtitled.caption(shown, is_final=is_final, **fields)


@pytest.fixture(autouse=True)
def _capable_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")


def screen_after(
    *batches: list[Caption], columns: int = 20, languages: Sequence[str] = ()
) -> tuple[SmallTerminal, Tty]:
    out, terminal = Tty(), SmallTerminal()
    screen = open_screen(columns, out, languages=languages)
    for batch in batches:
        screen.draw(batch)
    terminal.send(out.getvalue())
    return terminal, out


def lines_after(*captions: Caption) -> str:
    out = io.StringIO()
    with open_screen(out=out) as screen:
        for shown in captions:
            screen.draw([shown])
    return out.getvalue()


# Not a terminal


def test_without_a_terminal_each_final_is_one_line() -> None:
    long = "Es war die beste aller Zeiten, es war die schlechteste aller Zeiten"
    captions = [caption("Es"), caption(long, is_final=True), caption("", is_final=True, segment=1)]
    assert lines_after(*captions) == long + "\n"


def test_each_language_has_lines_of_its_own_that_stay_where_they_are() -> None:
    german, french = (partial(caption, language=code) for code in ("de", "fr"))
    spoken = [
        [german("Es war die beste aller Zeiten"), french("C'était")],
        [german("Es war die beste aller Zeiten", is_final=True)],
        [french("C'était bien", is_final=True), german("Dann", segment=1)],
    ]
    finals = ["de  Es war die", "    beste aller", "    Zeiten"]
    for count, rows in (
        (1, ["de  beste aller", "    Zeiten", "fr  C'était"]), (2, [*finals, "de", "fr  C'était"]),
        (3, [*finals, "fr  C'était bien", "de  Dann", "fr"]),
    ):  # fmt: skip
        assert screen_after(*spoken[:count], columns=12, languages=["de", "fr"])[0].rows == rows
    printed = "de: Es war die beste aller Zeiten\nfr: C'était bien\n"
    assert lines_after(*(one for batch in spoken for one in batch)) == printed


def test_without_a_terminal_a_notice_goes_to_standard_error_and_a_status_nowhere(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with open_screen() as screen:
        screen.status(Status(state="listening"))
        screen.notice("the microphone\x1b[2J is gone")
    assert capsys.readouterr() == ("", "surtitle: the microphone is gone\n")


def test_a_dumb_terminal_gets_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    _, out = screen_after([caption("Es")], [caption("Es war", is_final=True)])
    assert out.getvalue() == "Es war\n"


def test_characters_that_the_output_cannot_encode_are_replaced() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, "ascii")
    open_screen(out=out).draw([caption("schön 最好", is_final=True)])
    assert raw.getvalue() == b"sch?n ??\n"


@pytest.mark.parametrize("out", [io.StringIO(), Tty()])
def test_an_output_that_fails_is_an_output_error_which_only_drawing_raises(
    out: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(out, "flush", Mock(side_effect=BrokenPipeError(32, "Broken pipe")))
    screen = open_screen(out=out)
    screen.status(Status(state="listening"))
    with pytest.raises(OutputError, match="Broken pipe; add --quiet"):
        screen.draw([caption("Es", is_final=True)])
    screen.notice("the microphone is gone")
    screen.close()


# A terminal


def test_open_captions_of_many_streams_are_not_taken_for_finished_ones() -> None:
    streams = [f"room {number}" for number in range(255)]
    rounds = [[caption(word, stream=stream)] for word in ("eins", "eins, zwei") for stream in streams]
    finals = [[caption(f"{stream}.", is_final=True, stream=stream)] for stream in streams]
    terminal, _ = screen_after(*rounds)
    assert terminal.rows == ["eins, zwei"]
    terminal, _ = screen_after(*rounds, *finals)
    assert terminal.rows == [*(f"{stream}." for stream in streams), ""]


# The status and notices


class Stage:
    """A screen on a small terminal, with a clock that the test moves."""

    def __init__(self) -> None:
        self.out, self.terminal = Tty(), SmallTerminal()
        self.now_s = 0.0
        self.screen = open_screen(20, self.out, now=lambda: self.now_s)

    def rows(self) -> list[str]:
        self.terminal.send("".join(self.out.sent))
        self.out.sent.clear()
        return self.terminal.rows


def test_the_status_is_drawn_ten_times_a_second_at_most_and_the_last_one_comes_through() -> None:
    stage = Stage()
    for number in range(1000):
        stage.now_s = number / 1000
        stage.screen.status(Status(state=f"update {number}"))
    assert 9 <= len(stage.out.sent) <= 10
    assert stage.rows() != ["update 999"]
    stage.now_s = 1.1
    stage.screen.draw([])
    assert stage.rows() == ["update 999"]


def test_a_notice_scrolls_up_dim_like_history() -> None:
    stage = Stage()
    stage.screen.status(Status(state="listening"))
    stage.screen.draw([caption("Es war")])
    stage.screen.notice("the microphone\x1b[2J is gone")
    assert stage.rows() == ["surtitle: the microphone is gone", "Es war", "listening"]
    assert stage.terminal.dim == stage.rows()
    stage.screen.draw([caption("Es war", is_final=True)])
    assert stage.rows() == ["surtitle: the microphone is gone", "Es war", "listening"]
    assert stage.terminal.dim == ["surtitle: the microphone is gone", "", "listening"]
