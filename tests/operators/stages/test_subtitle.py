"""The subtitle stage in a flow: when cues leave it."""

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource, run_main

from operators.languages import Direction
from operators.stages.subtitle import _Cues, subtitle
from operators.subtitles.timing import Cue
from operators.subtitles.writer import SubtitleWriter
from tests.subtitled import caption

GERMAN = Direction.of("en", "de")


def stage(now_s: list[float]) -> _Cues:
    return _Cues(SubtitleWriter("target", GERMAN), lambda: now_s[0])


def test_finals_of_all_streams_leave_as_one_row_of_cues() -> None:
    finals = [caption("Eins.", 0, 2), caption("Zwei.", 1, 3, stream="b"), caption("Drei.", 5, 6)]
    found: list[tuple[str, Cue]] = []
    flow = Dataflow("subtitles")
    cues = subtitle("subtitle", op.input("in", flow, TestingSource(finals)), "target", GERMAN)
    op.output("out", cues, TestingSink(found))
    run_main(flow)  # type: ignore[no-untyped-call]  # Bytewax leaves it unannotated
    assert [cue.lines for _, cue in found] == [("Eins.",), ("Zwei.",), ("Drei.",)]
    assert len({key for key, _ in found}) == 1


def test_live_speech_is_written_when_silence_has_passed() -> None:
    now_s = [1.0]
    cues = stage(now_s)
    assert cues.notify_at() is None
    assert cues.on_batch([caption("Ja.", 0, 1)])[0] == []
    # A second of it is left to captions that are under way.
    now_s[0] = 6.9
    assert cues.on_notify()[0] == []
    now_s[0] = 7.0
    assert cues.on_notify()[0] == [Cue(0, 1000, ("Ja.",))]
    assert cues.notify_at() is None
    assert cues.on_notify()[0] == []
    assert cues.on_eof()[0] == []
