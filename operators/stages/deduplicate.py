"""The deduplicate stage: drops updates that came before, as from a queue that delivers at least once."""

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

import msgspec
from bytewax import operators as op
from bytewax.dataflow import Stream, operator
from bytewax.operators import KeyedStream, StatefulBatchLogic
from typing_extensions import override

from operators.events import MAX_COUNT, Caption, Partial, Translation
from operators.stages.snapshots import Silence, pack, unpack

E = TypeVar("E", bound=Partial | Translation | Caption)

# Segments of a stream whose last revision is remembered; earlier ones count as ended.
_MAX_SEGMENTS = 1024


class Seen(msgspec.Struct, array_like=True):
    """The updates of a stream that were seen."""

    #: The last revision of each of the latest segments; of one that has ended, the highest possible one.
    last: dict[int, int] = {}
    #: The segments before this one are over.
    first: int = 0

    def is_new(self, segment: int, revision: int, *, is_final: bool) -> bool:
        """Whether an update is newer than all of its segment before it; it counts as seen from now on."""
        if segment < self.first or revision <= self.last.get(segment, -1):
            return False
        self.last[segment] = MAX_COUNT if is_final else revision
        if len(self.last) > _MAX_SEGMENTS:
            self.first = min(self.last) + 1
            del self.last[self.first - 1]
        return True


@operator
def deduplicate(
    step_id: str, up: Stream[E], repeated: Callable[[E], None] = lambda _event: None
) -> Stream[E]:
    """Drop updates that are not newer than the last one of their segment, or that come after its final.

    A recogniser that is started again must send another stream, because it counts its segments from 0.

    Args:
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

    keyed: KeyedStream[E] = op.key_on("key", up, lambda event: event.channel)
    return op.key_rm("unkey", op.stateful_batch("seen", keyed, build))


class _Stream(StatefulBatchLogic[E, E, bytes]):
    def __init__(self, seen: Seen, repeated: Callable[[E], None]) -> None:
        self._seen, self._repeated, self._silence = seen, repeated, Silence()

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
