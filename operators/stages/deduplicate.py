"""The deduplicate stage: drops updates that came before, as from a queue that delivers at least once."""

from collections.abc import Callable
from datetime import datetime
from time import monotonic

from bytewax import operators as op
from bytewax.dataflow import Stream, operator
from bytewax.operators import KeyedStream, StatefulBatchLogic
from typing_extensions import override

from operators.clock import LagClock
from operators.events import happened_s
from operators.snapshots import pack, unpack
from operators.stages.seen import E, Seen
from operators.stages.silence import Silence

# Seconds between two sentences about the sessions of a stream.
_TELL_S = 60.0


@operator
def deduplicate(
    step_id: str,
    up: Stream[E],
    repeated: Callable[[E], None] = lambda _event: None,
    tell: Callable[[str], None] = lambda _sentence: None,
    clock: LagClock | None = None,
) -> Stream[E]:
    """Drop updates that are not newer than the last one of their segment, or that come after its final.

    A recogniser that was started again counts its segments from 0. What it says continues the stream.

    Args:
        step_id: Unique id.
        up: Events about segments, of any number of streams.
        repeated: Called with each event that is dropped.
        tell: Called with a sentence for the user when a stream has another session.
        clock: Hears when each event comes.

    Example:
        >>> from bytewax import operators as op
        >>> from bytewax.dataflow import Dataflow
        >>> from bytewax.testing import TestingSink, TestingSource, run_main
        >>> from operators import Partial
        >>> from operators.stages.deduplicate import deduplicate
        >>> one = Partial(stream="talk", segment=0, revision=0, is_final=True, text="It was", start_s=0.2,
        ...               end_s=0.6, arrival_s=0.7)
        >>> flow, once = Dataflow("example"), []
        >>> partials = op.input("in", flow, TestingSource([one, one]))
        >>> op.output("out", deduplicate("deduplicate", partials), TestingSink(once))
        >>> run_main(flow)
        >>> len(once)
        1
    """
    lag = clock or LagClock(monotonic)

    def build(resume: bytes | None) -> _Stream[E]:
        return _Stream(Seen() if resume is None else unpack(resume, Seen), repeated, tell, lag)

    keyed: KeyedStream[E] = op.key_on("key", up, lambda event: event.stream)
    return op.key_rm("unkey", op.stateful_batch("seen", keyed, build))


class _Stream(StatefulBatchLogic[E, E, bytes]):
    def __init__(
        self, seen: Seen, repeated: Callable[[E], None], tell: Callable[[str], None], clock: LagClock
    ) -> None:
        self._seen, self._repeated, self._tell, self._clock = seen, repeated, tell, clock
        self._silence = Silence()
        self._name: str | None = None
        self._told_s = -_TELL_S

    @override
    def on_batch(self, values: list[E]) -> tuple[list[E], bool]:
        new = []
        for event in values:
            if self._name is None:
                self._name = event.stream
                self._clock.resume(event.stream, self._seen.delays)
            if self._seen.is_another_session(event):
                self._begin_session(event)
            if self._seen.is_new(event.segment, event.revision, is_final=event.is_final):
                self._seen.note(event)
                new.append(self._seen.continued(event))
                self._clock.heard(event.stream, happened_s(new[-1]))
            else:
                self._repeated(event)
        self._silence.broken()
        return new, StatefulBatchLogic.RETAIN

    def _begin_session(self, event: E) -> None:
        if self._seen.begin_session(event):
            self._clock.begins_anew(event.stream)
        now_s = monotonic()
        if now_s - self._told_s >= _TELL_S:
            self._told_s = now_s
            self._tell(
                f"stream {event.stream!r} begins anew with segment {event.segment}: its recogniser was "
                f"started again; its captions go on with segment {self._seen.continued(event).segment}"
            )

    @override
    def on_notify(self) -> tuple[list[E], bool]:
        return [], self._silence.is_long()

    @override
    def notify_at(self) -> datetime | None:
        return self._silence.look_at

    @override
    def snapshot(self) -> bytes:
        if self._name is not None:
            self._seen.delays = self._clock.snapshot(self._name)
        return pack(self._seen)
