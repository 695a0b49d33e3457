"""The deduplicate stage: drops updates that came before, as from a queue that delivers at least once."""

from bisect import bisect_right
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

import msgspec
from bytewax import operators as op
from bytewax.dataflow import Stream, operator
from bytewax.operators import KeyedStream, StatefulBatchLogic
from typing_extensions import override

from operators.events import SegmentEvent
from operators.snapshots import pack, unpack
from operators.stages.silence import Silence

E = TypeVar("E", bound=SegmentEvent)

# Open segments, and ranges of ended ones, that are remembered of a stream. Beyond that, the oldest is
# forgotten: an update that comes twice does less harm than one that is lost.
_MAX_OPEN, _MAX_RANGES = 1024, 1024


class Seen(msgspec.Struct, array_like=True):
    """The updates of a stream that were seen, in little space."""

    #: The last revision of each open segment.
    open: dict[int, int] = {}
    #: Ranges of ended segments, first and last, in order.
    ended: list[tuple[int, int]] = []

    def is_new(self, segment: int, revision: int, *, is_final: bool) -> bool:
        """Whether an update is newer than all of its segment before it; it counts as seen from now on."""
        if revision <= self.open.get(segment, -1) or self._has_ended(segment):
            return False
        self.open.pop(segment, None)
        if is_final:
            self._end(segment)
            return True
        # The one updated last comes last.
        self.open[segment] = revision
        if len(self.open) > _MAX_OPEN:
            del self.open[next(iter(self.open))]
        return True

    def _has_ended(self, segment: int) -> bool:
        after = self._after(segment)
        return after > 0 and segment <= self.ended[after - 1][1]

    def _after(self, segment: int) -> int:
        """The place of the first range that begins after a segment."""
        return bisect_right(self.ended, segment, key=lambda known: known[0])

    def _end(self, segment: int) -> None:
        """Add a segment to the ranges, joined with its neighbours."""
        first = last = segment
        begin = end = self._after(segment)
        if begin > 0 and self.ended[begin - 1][1] + 1 == segment:
            begin -= 1
            first = self.ended[begin][0]
        if end < len(self.ended) and self.ended[end][0] - 1 == segment:
            last = self.ended[end][1]
            end += 1
        self.ended[begin:end] = [(first, last)]
        del self.ended[:-_MAX_RANGES]


@operator
def deduplicate(
    step_id: str, up: Stream[E], repeated: Callable[[E], None] = lambda _event: None
) -> Stream[E]:
    """Drop updates that are not newer than the last one of their segment, or that come after its final.

    Args:
        step_id: Unique id.
        up: Events about segments, of any number of streams.
        repeated: Called with each event that is dropped.

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

    def build(resume: bytes | None) -> _Stream[E]:
        return _Stream(Seen() if resume is None else unpack(resume, Seen), repeated)

    keyed: KeyedStream[E] = op.key_on("key", up, lambda event: event.stream)
    return op.key_rm("unkey", op.stateful_batch("seen", keyed, build))


class _Stream(StatefulBatchLogic[E, E, bytes]):
    def __init__(self, seen: Seen, repeated: Callable[[E], None]) -> None:
        self._seen, self._repeated = seen, repeated
        self._silence = Silence()

    @override
    def on_batch(self, values: list[E]) -> tuple[list[E], bool]:
        new = []
        for event in values:
            if self._seen.is_new(event.segment, event.revision, is_final=event.is_final):
                new.append(event)
            else:
                self._repeated(event)
        self._silence.broken()
        return new, StatefulBatchLogic.RETAIN

    @override
    def on_notify(self) -> tuple[list[E], bool]:
        return [], self._silence.is_long()

    @override
    def notify_at(self) -> datetime | None:
        return self._silence.look_at

    @override
    def snapshot(self) -> bytes:
        return pack(self._seen)
