"""The deduplicate stage: drops repeated updates, for example from a queue that delivers at least once."""

from collections.abc import Callable
from typing import TypeVar

import msgspec
from bytewax import operators as op
from bytewax.dataflow import Stream, operator
from bytewax.operators import KeyedStream
from typing_extensions import override

from operators.events import MAX_COUNT, Caption, Partial, Translation
from operators.stages.snapshots import StreamLogic, unpack

E = TypeVar("E", bound=Partial | Translation | Caption)

# Maximum number of segments of a stream whose last revision is kept; earlier ones count as ended.
_MAX_SEGMENTS = 1024


class UpdateHistory(msgspec.Struct, array_like=True):
    #: The last revision of each of the latest segments; `MAX_COUNT` for a segment that has ended.
    last: dict[int, int] = {}
    #: The segments before this one are over.
    first: int = 0

    def is_new(self, segment: int, revision: int, *, is_final: bool) -> bool:
        """Whether an update is newer than all earlier ones of its segment; records it."""
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

    A restarted recogniser must use another stream name, because it counts its segments from 0 again.

    Args:
        up: Events about segments, of any number of streams.
        repeated: Called with each event that is dropped.
    """

    def build(resume: bytes | None) -> _Stream[E]:
        return _Stream(UpdateHistory() if resume is None else unpack(resume, UpdateHistory), repeated)

    keyed: KeyedStream[E] = op.key_on("key", up, lambda event: event.channel)
    return op.key_rm("unkey", op.stateful_batch("seen", keyed, build))


class _Stream(StreamLogic[E, E, UpdateHistory]):
    def __init__(self, seen: UpdateHistory, repeated: Callable[[E], None]) -> None:
        super().__init__(seen)
        self._repeated = repeated

    @override
    def take(self, event: E) -> list[E]:
        if self.state.is_new(event.segment, event.revision, is_final=event.is_final):
            return [event]
        self._repeated(event)
        return []
