"""Queues of updates that wait to be translated, and the order in which streams are served.

For streams that keep up with live speech, finals are served first, and only the newest waiting partial of a
segment. For other streams every update is translated, in its order. A final is never dropped.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from operators.decoding.translator import Output, SegmentState
from operators.events import Partial
from operators.serving.scheduler import PATIENCE

#: Maximum number of unfinished segments whose state is kept per stream; no recogniser has more than a few.
#: Beyond that, the one translated longest ago is dropped; a later update of it starts without a draft.
MAX_OPEN = 1024


class Response(NamedTuple):
    """The translation of an update, which has superseded all earlier pending ones of its segment."""

    partial: Partial
    #: The state of its segment after the update.
    state: SegmentState
    output: Output
    #: Seconds from the update's start to its translation, including shared passes.
    seconds: float


#: Receives each response, or an error, which is always a defect.
Deliver = Callable[[Response | Exception], None]


def remember(states: dict[int, SegmentState], response: Response) -> None:
    """Keep the state of an open segment after a response, as the most recent one."""
    states.pop(response.partial.segment, None)
    if not response.partial.is_final:
        states[response.partial.segment] = response.state
    if len(states) > MAX_OPEN:
        del states[next(iter(states))]


class QueuedUpdate(NamedTuple):
    partial: Partial
    #: The time since which its segment has waited, in seconds.
    since_s: float


class StreamQueue:
    """The waiting updates of one stream, and the states of its open segments; for one thread at a time."""

    def __init__(self, states: Mapping[int, SegmentState], deliver: Deliver, *, keep_up: bool) -> None:
        """With ``keep_up`` the queue serves finals first, and of a segment's partials only the newest."""
        self.deliver = deliver
        self.states = dict(states)
        #: Whether the first partial has waited since an earlier round of a `DirectService`.
        self.has_waited = False
        self._keep_up = keep_up
        # The finals; without ``keep_up``, all updates.
        self._due: deque[QueuedUpdate] = deque()
        # The newest partial of each segment.
        self._partials: dict[int, QueuedUpdate] = {}

    def __len__(self) -> int:
        return len(self._due) + len(self._partials)

    @property
    def is_due(self) -> bool:
        """Whether the next update must be translated at once: a final, or any update without ``keep_up``."""
        return bool(self._due)

    @property
    def first(self) -> QueuedUpdate | None:
        """The update that `take` returns: a due one, or else the partial that has waited longest."""
        return self._due[0] if self._due else next(iter(self._partials.values()), None)

    @property
    def has_final(self) -> bool:
        return self.first is not None and self.first.partial.is_final

    def put(self, partial: Partial, now_s: float = 0.0) -> None:
        """Add an update, which supersedes a waiting partial of its segment."""
        before = self._partials.get(partial.segment)
        waiting = QueuedUpdate(partial, now_s if before is None else before.since_s)
        if partial.is_final or not self._keep_up:
            self._partials.pop(partial.segment, None)
            self._due.append(waiting)
        else:
            # It gets the place of the superseded one, because its segment has waited since then.
            self._partials[partial.segment] = waiting

    def take(self) -> QueuedUpdate:
        """Remove and return the next update; there must be one."""
        return self._due.popleft() if self._due else self._partials.pop(next(iter(self._partials)))

    def respond(self, response: Response) -> None:
        remember(self.states, response)
        self.deliver(response)


class FairQueue:
    """Streams that wait for their turn: finals first, then the longest wait, without starvation."""

    def __init__(self) -> None:
        # Streams whose next update is a final, and all others, in their order.
        self._finals: dict[StreamQueue, None] = {}
        self._others: dict[StreamQueue, None] = {}
        self._in_a_row = 0

    def __len__(self) -> int:
        return len(self._finals) + len(self._others)

    def __iter__(self) -> Iterator[StreamQueue]:
        return chain(self._finals, self._others)

    @property
    def has_final(self) -> bool:
        return bool(self._finals)

    def join(self, stream: StreamQueue) -> None:
        """Join the end of the queue; a waiting stream keeps its place, but moves up with its first final."""
        if stream.has_final:
            self._others.pop(stream, None)
            self._finals.setdefault(stream)
        elif stream not in self._finals:
            self._others.setdefault(stream)

    def leave(self, stream: StreamQueue) -> None:
        self._finals.pop(stream, None)
        self._others.pop(stream, None)

    def next(self) -> StreamQueue:
        """Remove and return the next stream; there must be one."""
        is_final = self.has_final and not (self._others and self._in_a_row >= PATIENCE)
        self._in_a_row = self._in_a_row + 1 if is_final and self._others else 0
        line = self._finals if is_final else self._others
        stream = next(iter(line))
        del line[stream]
        return stream
