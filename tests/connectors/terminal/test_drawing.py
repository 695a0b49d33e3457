"""Captions where there is no terminal, and how often and where one is written."""

import io
from typing import Any
from unittest.mock import Mock

import pytest
from msgspec import UNSET

from connectors.terminal import open_screen, redraw
from connectors.view import CaptionRow, Status
from operators.errors import OutputError
from operators.events import Caption
from operators.languages import language
from tests import subtitled
from tests.tmux import Tty


def caption(shown: str, *, is_final: bool = False, **fields: Any) -> Caption:
    return subtitled.caption(shown, is_final=is_final, **fields)


@pytest.fixture(autouse=True)
def _capable_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")


def test_only_rows_that_changed_are_written() -> None:
    old = [CaptionRow("Es war"), CaptionRow("die"), CaptionRow("", "speech")]
    assert redraw(old, old) == ""
    new = [old[0], CaptionRow("die", " beste"), old[2]]
    assert redraw(old, new) == "\x1b[2A\r\r\ndie\x1b[2m beste\x1b[22m\x1b[K\r\n\x1b[2mspeech\x1b[22m\x1b[K"


def test_the_status_is_drawn_ten_times_a_second_at_most_and_the_last_one_comes_through() -> None:
    out, now_s = Tty(), 0.0
    screen = open_screen(20, out, now=lambda: now_s)
    for number in range(1000):
        now_s = number / 1000
        screen.status(Status(state=f"update {number}"))
    assert 9 <= len(out.sent) <= 10
    assert "update 999" not in out.getvalue()
    now_s = 1.1
    screen.draw([])
    assert "update 999" in out.getvalue()


def test_without_a_terminal_a_notice_goes_to_standard_error_and_a_status_nowhere(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with open_screen() as screen:
        screen.status(Status(state="listening"))
        screen.notice("the microphone\x1b[2J is gone")
    assert capsys.readouterr() == ("", "surtitle: the microphone is gone\n")


@pytest.mark.parametrize(("out", "name"), [(io.StringIO(), "xterm"), (Tty(), "dumb")])
def test_finals_of_several_languages_are_plain_lines_without_a_terminal_or_on_a_dumb_one(
    monkeypatch: pytest.MonkeyPatch, out: io.StringIO, name: str
) -> None:
    monkeypatch.setenv("TERM", name)
    screen = open_screen(10, out)
    screen.draw([caption("Es war die", language="de"), caption("C'était", language="fr")])
    screen.draw([caption("Es war die beste", language="de", is_final=True)])
    screen.draw([caption(text, language="fr", is_final=True) for text in ("C'était bien", "")])
    assert out.getvalue() == "de: Es war die beste\nfr: C'était bien\n"


def test_plain_lines_name_the_speaker_where_another_one_spoke_before() -> None:
    out = io.StringIO()
    screen = open_screen(out=out, viewer=language("German"))
    spoken = [
        ("", "Eins.", UNSET),
        ("", "Zwei.", "1"),
        ("", "Drei.", UNSET),
        ("", "Vier.", "1"),
        ("b", "Fünf.", "1"),
    ]
    for stream, text, speaker in spoken:
        screen.draw([caption(text, is_final=True, stream=stream, speaker=speaker)])
    screen.draw([caption("Sechs.", is_final=True, stream="b", speaker="A\x1b[2Jnna\n")])
    assert out.getvalue().splitlines() == [
        "Eins.", "Sprecher 1: Zwei.", "Drei.", "Vier.", "Sprecher 1: Fünf.", "Anna: Sechs.",
    ]  # fmt: skip


def test_a_name_is_bold_where_a_terminal_draws() -> None:
    out = Tty()
    open_screen(20, out).draw([caption("Ja.", is_final=True, speaker="Anna")])
    assert "\x1b[1mAnna: \x1b[22mJa." in out.getvalue()


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
