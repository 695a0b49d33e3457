"""The deduplicate stage: drops updates that came before, as from a queue that delivers at least once."""

from bisect import bisect_right
from collections.abc import Callable
from datetime import datetime
from time import monotonic
from typing import TypeVar
from zlib import crc32

import msgspec
from bytewax import operators as op
from bytewax.dataflow import Stream, operator
from bytewax.operators import KeyedStream, StatefulBatchLogic
from typing_extensions import override

from operators.clock import LagClock
from operators.events import MAX_COUNT, MAX_SECONDS, Caption, Partial, Translation, happened_s
from operators.stages.snapshots import Silence, pack, unpack

E = TypeVar("E", bound=Partial | Translation | Caption)

# Open segments, and ranges of ended ones, that are remembered of a stream. Beyond that, the oldest is
# forgotten: an update that comes twice does less harm than one that is lost.
_MAX_OPEN, _MAX_RANGES = 1024, 1024
# The first segments of a session, and the first updates of each, by which the session is known again.
_MAX_FIRST, _MAX_UPDATES = 4, 16
_TIMES = ("start_s", "end_s", "arrival_s", "started_s", "ready_s", "shown_s")


class Seen(msgspec.Struct, array_like=True):
    """The updates of a stream that were seen, in little space.

    A session of a recogniser counts its segments from 0, and a recogniser that is started again begins with
    another one. What it says continues the stream: with later numbers, and at later times.
    """

    #: The last revision of each open segment.
    open: dict[int, int] = {}
    #: Ranges of ended segments, first and last, in order.
    ended: list[tuple[int, int]] = []
    #: Of the first updates of the session, by segment and revision: when its speech began, and a checksum of
    #: its text.
    first: dict[int, dict[int, tuple[float, int]]] = {}
    #: The latest time of an update of the session.
    latest_s: float = 0.0
    #: The segments and the seconds of the stream before this session.
    segments_before: int = 0
    before_s: float = 0.0
    #: The delays of the stream, as `LagClock` remembers them.
    delays: tuple[tuple[float, float], ...] = ()

    def is_new(self, segment: int, revision: int, *, is_final: bool) -> bool:
        """Whether an update is newer than all of its segment before it; it counts as seen from now on."""
        if not self._is_newer(segment, revision):
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

    def is_another_session(self, event: Partial | Translation | Caption) -> bool:
        """Whether an update cannot be of the session of those before it.

        An update that comes again has the times and the text that it had. In another session, the speech of a
        segment that is known begins at another time, or says something else.
        """
        if not self.first:
            return False
        is_later = event.start_s > self.latest_s
        if event.segment == 0 and not self._is_known(0):
            # Those before it were seen from the middle of a session on.
            return is_later or _latest_s(event) < self.latest_s
        if self._is_newer(event.segment, event.revision):
            return False
        if is_later:
            return True
        updates = self.first.get(event.segment, {})
        if event.revision not in updates:
            return False
        starts, texts = zip(*updates.values(), strict=True)
        if event.start_s not in starts:
            return True
        # A resumed run finishes the segments that were open with an earlier text.
        return _latest_s(event) <= self.latest_s and _checksum(event) not in texts

    def begin_session(self, event: Partial | Translation | Caption) -> bool:
        """Another session begins with an update; returns whether its clock begins anew, too."""
        last = max([*self.open, *(last for _, last in self.ended[-1:])], default=-1)
        self.segments_before += last + 1
        self.open, self.ended, self.first = {}, [], {}
        is_clock_new = event.start_s <= self.latest_s
        if is_clock_new:
            self.before_s += self.latest_s
            self.latest_s = 0.0
        return is_clock_new

    def note(self, event: Partial | Translation | Caption) -> None:
        """Remember an update that is new."""
        self.latest_s = max(self.latest_s, _latest_s(event))
        if event.segment not in self.first and len(self.first) >= _MAX_FIRST:
            return
        updates = self.first.setdefault(event.segment, {})
        if len(updates) < _MAX_UPDATES:
            updates[event.revision] = event.start_s, _checksum(event)

    def continued(self, event: E) -> E:
        """An update of this session as one of the stream."""
        if not self.segments_before:
            return event
        times = {name: getattr(event, name, None) for name in _TIMES}
        moved = {
            name: min(time_s + self.before_s, MAX_SECONDS)
            for name, time_s in times.items()
            if time_s is not None
        }
        segment = min(event.segment + self.segments_before, MAX_COUNT)
        return msgspec.structs.replace(event, segment=segment, **moved)

    def _is_newer(self, segment: int, revision: int) -> bool:
        return revision > self.open.get(segment, -1) and not self._has_ended(segment)

    def _is_known(self, segment: int) -> bool:
        return segment in self.open or self._has_ended(segment)

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


def _latest_s(event: Partial | Translation | Caption) -> float:
    return max(event.start_s, event.end_s, event.arrival_s)


def _checksum(event: Partial | Translation | Caption) -> int:
    text = event.text if isinstance(event, Partial) else event.source
    return crc32(text.encode("utf-8", "surrogatepass"))


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

    keyed: KeyedStream[E] = op.key_on("key", up, lambda event: event.channel)
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
