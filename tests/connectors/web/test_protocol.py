"""A client that comes at any moment and misses any events ends with the same text as all others."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from connectors.view import Status
from connectors.web.messages import Languages, RunState, figures_after, state_of
from connectors.web.protocol import Bounds, StreamLog
from operators.events import Caption, Erasure, ErasureRecord, Latency
from operators.text import cleaned
from tests.connectors.web.browser import Page, caption

LANGUAGES = Languages(source="en", target="de")


def a_log(bounds: Bounds | None = None) -> StreamLog:
    return StreamLog("run", LANGUAGES, bounds)


def fresh(log: StreamLog) -> Page:
    page = Page()
    page.take(log.arrival(None)[1])
    return page


def record(*, final: bool = False, ne: float = 0.5) -> ErasureRecord:
    erasure = Erasure(length=4, erased=1, ne_segment=ne, ne_stream=ne)
    return ErasureRecord(
        stream="talk", segment=0, revision=0, is_final=final, raw=erasure, shown=erasure,
        latency_from_speech_s=0.5, latency_from_arrival_s=0.25, latency=Latency(recogniser_s=0.25),
        overtaken=2, signature="",
    )  # fmt: skip


# Few segments and short texts with much in common, so that all kinds of differences come up; a surrogate, an
# escape sequence and white space are cleaned away, and what stays counts code points beyond 16 bits.
texts = st.text(st.sampled_from("ab 🎭é\u0301\n\x1b\ud800<"), max_size=8)
captions = st.builds(
    lambda segment, text, source, final, speaker: caption(
        text, segment, final=final, source=source, speaker=speaker
    ),
    st.integers(0, 5), texts, texts, st.sampled_from([False, False, True]),
    st.sampled_from([UNSET, "1", "2", "3"]),
)  # fmt: skip
#: A caption, a name for a voice, a state, the moment at which the connection breaks (and how many events were
#: received).
namings = st.tuples(st.sampled_from("1234"), st.sampled_from(["Anna", "Ben"]))
steps = st.lists(st.one_of(captions, namings, st.just("state"), st.integers(0, 3)), max_size=40)


@given(steps, st.integers(1, 12), st.integers(1, 6))
def test_a_client_that_loses_its_connection_anywhere_ends_like_one_that_saw_everything(
    steps: list[Caption | tuple[str, str] | str | int], messages: int, segments: int
) -> None:
    log = a_log(Bounds(messages=messages, segments=segments))
    witness, page = Page(), fresh(log)
    position = log.position
    seen = 0
    for step in steps:
        if isinstance(step, Caption):
            log.caption(step)
        elif isinstance(step, tuple):
            log.name(log.called_like(step[0]), step[1])
        elif step == "state":
            log.tell(RunState(state="speech"))
            log.tick()
        else:
            # Of what is on its way as many whole events arrive, and the rest is lost.
            assert isinstance(step, int)
            on_its_way = log.after(position) or b""
            arrived = b"\n\n".join(on_its_way.split(b"\n\n")[:step])
            page.take(arrived)
            position, missed = log.arrival(page.last_id)
            page.take(missed)
        if seen < log.position:
            newest = log.after(seen)
            assert newest is not None
            witness.take(newest)
            seen = log.position
    page.take(log.arrival(page.last_id)[1])
    assert fresh(log).names == page.names == witness.names
    remembered = fresh(log).segments
    assert len(remembered) <= segments
    assert len(log._journal) <= messages
    assert remembered.items() <= page.segments.items()
    assert remembered.items() <= witness.segments.items()
    # What either has beside that was forgotten since: never a segment that nobody spoke.
    assert page.segments.keys() <= witness.segments.keys()


@given(st.lists(captions, max_size=40))
def test_the_text_is_that_of_the_captions_cleaned(given_captions: list[Caption]) -> None:
    log = a_log()
    page = fresh(log)
    expected: dict[int, tuple[str, str, bool]] = {}
    for one in given_captions:
        log.caption(one)
        if not expected.get(one.segment, ("", "", False))[2]:
            expected[one.segment] = (cleaned(one.shown), cleaned(one.source), one.is_final)
    page.take(log.after(0) or b"")
    got = {number: (one["text"], one["source"], one["final"]) for number, one in page.segments.items()}
    assert got == expected


def said(log: StreamLog) -> list[tuple[str, str]]:
    """Who says what, as somebody reads who joins now; the same as somebody who saw everything."""
    everything = a_log().arrival(None)[1] + (log.after(0) or b"")
    page = Page()
    page.take(everything)
    assert fresh(log).said == page.said
    return page.said


def test_a_speaker_who_is_known_late_gets_a_name_and_who_was_shown_stays() -> None:
    log = a_log()
    log.caption(caption("Guten", speaker="1"))
    # Short stretches are taken for the voice before, until it is known better.
    for speaker in (UNSET, "1", "2", "1"):
        log.caption(caption("Wer", 1, speaker=speaker))
    log.caption(caption("Wer da?", 1, final=True, speaker="1"))
    log.caption(caption("Ich.", 2, final=True, speaker="1"))
    assert said(log) == [("Sprecher 1", "Guten"), ("Sprecher 2", "Wer da?"), ("Sprecher 1", "Ich.")]


def test_a_name_is_that_of_all_a_voice_has_said_and_says_also_under_its_number() -> None:
    log = a_log()
    log.caption(caption("Guten Tag.", 0, final=True, speaker="1"))
    log.caption(caption("Hallo.", 1, final=True, speaker="2"))
    assert log.called_like("3") == []
    log.name(log.called_like("1"), "Anna")
    # On their way when the name was typed, and after it.
    log.caption(caption("Willkommen", 2, speaker="1"))
    log.caption(caption("Bitte", 3, speaker="Anna"))
    names = [name for name, _ in said(log)]
    assert names == ["Anna", "Sprecher 2", "Anna", "Anna"]
    log.name(log.called_like("2"), "Anna")
    assert {name for name, _ in said(log)} == {"Anna"}
    # Two voices with one name are one: both are called otherwise from then on.
    log.name(log.called_like("Anna"), "Eva")
    assert {name for name, _ in said(log)} == {"Eva"}


def test_names_without_end_are_not_remembered() -> None:
    log = a_log(Bounds(speakers=4))
    log.caption(caption("Ja.", 0, final=True, speaker="1"))
    for number in range(100):
        log.name(log.called_like("1"), f"Anna {number}")
    log.caption(caption("Gut.", 1, final=True, speaker="Anna 98"))
    assert said(log) == [("Anna 99", "Ja."), ("Anna 99", "Gut.")]
    assert len(fresh(log).names) <= 4


def test_voices_without_end_are_not_remembered() -> None:
    log = a_log(Bounds(speakers=2))
    for number in range(4):
        log.caption(caption("Ja.", number, final=True, speaker=f"{number}"))
    assert [name for name, _ in said(log)] == ["Sprecher 0", "Sprecher 1", "", ""]


@pytest.mark.parametrize(
    "last_id",
    [None, "", "other-2", "run-4", "run--1", "run-2\n", "run-9999999999999", "rün-2", "run-²"],
)
def test_an_id_of_another_run_or_from_nowhere_gets_a_snapshot(last_id: str | None) -> None:
    log, page = a_log(), Page()
    for number in range(3):
        log.caption(caption("text", number, final=True))
    page.take(log.arrival(last_id)[1])
    assert (page.snapshots, page.last_id) == (1, "run-3")


def test_a_state_is_told_so_often_and_the_newest_is_not_lost() -> None:
    log = a_log()
    for number in range(100):
        log.tell(RunState(state=f"{number}"))
    assert log.tick()
    assert not log.tick()
    assert log.position == 1
    page = fresh(log)
    assert page.state == "99"


def test_the_end_tells_the_last_figures_first_and_whoever_comes_later_learns_of_both() -> None:
    log = a_log()
    log.tell(figures_after(None, record(), 0.0))
    log.tick()
    log.tell(figures_after(log.figures, record(final=True, ne=0.25), 1.5))
    log.end()
    log.end()
    page = Page()
    page.take(log.after(0) or b"")
    assert (log.position, page.is_over) == (3, True)
    expected = {"updates": 2, "segments": 1, "overtaken": 4, "ne_raw": 0.25, "lost_s": 1.5}
    for one in (page, fresh(log)):
        figures = one.figures or {}
        assert {name: figures[name] for name in expected} == expected
        assert (figures["latency_ms"]["from_speech"], figures["latency_ms"]["queue"]) == (500.0, None)
        assert one.is_over


def test_finished_segments_are_forgotten_before_one_that_goes_on() -> None:
    log = a_log(Bounds(segments=2))
    for number in range(4):
        log.caption(caption("text", number, final=number > 0))
    assert list(fresh(log).segments) == [0, 3]


@pytest.mark.parametrize("level", [-math.inf, math.nan, None])
def test_a_level_that_is_none_is_null(level: float | None) -> None:
    assert state_of(Status(state="listening", level_dbfs=level), None).level_dbfs is None
