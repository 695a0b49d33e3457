"""The subtitle stage in a flow: when cues leave it."""

from datetime import UTC, datetime, timedelta
from time import monotonic, thread_time

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource, run_main

from operators.stages.subtitle import _Cues, subtitle
from operators.subtitles.timing import Cue
from operators.subtitles.writer import Columns, SubtitleWriter
from tests.subtitled import caption


def stage(now_s: list[float]) -> _Cues:
    return _Cues(SubtitleWriter("target", Columns()), lambda: now_s[0])


def test_finals_of_all_streams_leave_as_one_row_of_cues() -> None:
    finals = [caption("Eins.", 0, 2), caption("Zwei.", 1, 3, stream="b"), caption("Drei.", 5, 6)]
    found: list[tuple[str, Cue]] = []
    flow = Dataflow("subtitles")
    cues = subtitle("subtitle", op.input("in", flow, TestingSource(finals)), "target", Columns())
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


def test_a_worker_that_only_waits_for_a_silence_leaves_the_processor_alone() -> None:
    cues = stage([1.0])
    cues.on_batch([caption("Ja.", 0, 1)])
    began_s, used_s = monotonic(), thread_time()
    for _ in range(50):
        assert cues.on_notify()[0] == []
    assert thread_time() - used_s < (monotonic() - began_s) / 4


def test_a_wall_clock_that_is_set_back_holds_no_cue_up() -> None:
    cues = stage([1.0])
    cues.on_batch([caption("Ja.", 0, 1)])
    wake = cues.notify_at()
    assert wake is not None
    assert wake < datetime.now(UTC) - timedelta(days=1)
