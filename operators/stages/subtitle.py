"""The subtitle stage: turns the finals of all streams into one sequence of cues."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from bytewax import operators as op
from bytewax.dataflow import Stream, operator
from bytewax.operators import KeyedStream, StatefulBatchLogic
from typing_extensions import override

from operators.events import Caption, Partial
from operators.languages import Direction
from operators.subtitles.timing import Cue
from operators.subtitles.writer import Shown, SubtitleWriter, WriterState

# Bytewax uses the wall clock, which may be set, so the stage checks its own clock at least this often.
_LOOK_S = 0.25
# Maximum seconds from the time a caption is ready to its arrival here; cues wait that much longer for it.
_MAX_UNDERWAY_S = 1.0


@operator
def subtitle(
    step_id: str,
    up: Stream[Caption | Partial] | Stream[Caption],
    shown: Shown,
    direction: Direction,
    now: Callable[[], float] | None = None,
) -> KeyedStream[Cue]:
    """Make subtitles from captions. All have the same key, because the cues of a file form one sequence.

    Args:
        up: Captions of any number of streams, and partials of sentences, which only time the speech.
        shown: Which text to show.
        direction: From the language of the speech to that of the captions.
        now: Returns the current time on the streams' clock, for live captions: then cues do not wait for the
            end of a silence.

    Example:
        >>> from bytewax import operators as op
        >>> from bytewax.dataflow import Dataflow
        >>> from bytewax.testing import TestingSink, run_main
        >>> from pathlib import Path
        >>> from connectors import JsonlSource
        >>> from operators import Caption, subtitle
        >>> from operators.languages import Direction
        >>> flow, cues = Dataflow("example"), []
        >>> captions = op.input("in", flow, JsonlSource(Path("captions.jsonl"), Caption))
        >>> german = subtitle("subtitle", captions, "target", Direction.of("English", "German"))
        >>> op.output("out", german, TestingSink(cues))
        >>> run_main(flow)
        >>> len(cues) > 0
        True
    """
    keyed: KeyedStream[Caption | Partial] = op.key_on("key", up, lambda _caption: "subtitles")
    return op.stateful_batch("cues", keyed, lambda state: _Cues(SubtitleWriter(shown, direction, state), now))


class _Cues(StatefulBatchLogic[Caption | Partial, Cue, WriterState]):
    def __init__(self, writer: SubtitleWriter, now: Callable[[], float] | None) -> None:
        self._writer = writer
        self._now = now
        self._due_s = writer.due_s

    @override
    def on_batch(self, values: list[Caption | Partial]) -> tuple[list[Cue], bool]:
        cues = self._writer.take(values)
        self._due_s = self._writer.due_s
        return cues, self.RETAIN

    @override
    def on_notify(self) -> tuple[list[Cue], bool]:
        wait_s = self._wait_s()
        if wait_s is None or wait_s > 0:
            return [], self.RETAIN
        cues = self._writer.release()
        self._due_s = self._writer.due_s
        return cues, self.RETAIN

    @override
    def on_eof(self) -> tuple[list[Cue], bool]:
        return self._writer.release(), self.RETAIN

    @override
    def notify_at(self) -> datetime | None:
        wait_s = self._wait_s()
        return None if wait_s is None else datetime.now(UTC) + timedelta(seconds=min(max(wait_s, 0), _LOOK_S))

    def _wait_s(self) -> float | None:
        due_s = self._due_s
        return None if due_s is None or self._now is None else due_s + _MAX_UNDERWAY_S - self._now()

    @override
    def snapshot(self) -> WriterState:
        return self._writer.state
