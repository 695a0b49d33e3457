"""What both translate stages share: the state of a stream, and what comes of an update.

A run may be resumed with or without rooms, so both read the same snapshots.
"""

import logging
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from operators.clock import Clock
from operators.decoding.translator import Output, SegmentState
from operators.events import Partial, Translation, moment_of
from operators.text import cleaned
from operators.trouble import Trouble

_log = logging.getLogger(__name__)

#: Maximum number of unfinished segments kept per stream; no recogniser has more than a few. Beyond that, the
#: one that was translated longest ago is dropped, and starts from scratch if it comes again.
MAX_OPEN = 1024

#: Called with the outcome of each update: what was wrong, and details for a person.
Note = Callable[[Trouble | None, str], None]


def no_note(_trouble: Trouble | None, _why: str) -> None:
    """Ignore the outcome."""


class OpenSegment(msgspec.Struct, array_like=True):
    """The state of an open segment."""

    segment: SegmentState = SegmentState()
    #: The newest partial, while it waits for its turn; only without rooms.
    waiting: Partial | None = None
    #: Number of partials that newer ones overtook since the last translation.
    overtaken: int = 0


class StageState(msgspec.Struct, array_like=True):
    """The state of a stream: its open segments, the most recently served last."""

    open: dict[int, OpenSegment] = {}
    #: What was handed in to rooms and has not come back, in its order.
    pending: list[Partial] = []


class Update(NamedTuple):
    """A partial that was translated."""

    partial: Partial
    #: The state of its segment before and after it.
    before: SegmentState
    after: SegmentState
    output: Output
    #: Number of partials that it has overtaken.
    overtaken: int

    def report(self, note: Note) -> None:
        """Tell ``note`` how it went, and log when a segment becomes longer than the context."""
        partial, output = self.partial, self.output
        name = f"segment {cleaned(partial.key)}"
        if len(self.before.windows) <= 1 < len(self.after.windows):
            where = {"event": "segment_split", "stream": partial.stream, "segment": partial.segment}
            _log.warning("%s is longer than the context and is translated in parts", name, extra=where)
        note(output.trouble, f"{name}: {output.why}" if output.why else name)

    def translation(self, clock: Clock, total_s: float) -> Translation:
        """The event for the next stage, if the work took ``total_s`` seconds until now."""
        partial, output = self.partial, self.output
        ready_s = clock.done(partial.stream, partial.arrival_s, total_s)
        return Translation(
            **moment_of(partial),
            source=partial.text,
            text="".join(output.pieces),
            tokens=output.tokens,
            pieces=output.pieces,
            started_s=max(partial.arrival_s, ready_s - total_s),
            ready_s=ready_s,
            overtaken=self.overtaken,
            effort=output.effort.with_total(total_s),
            trouble=output.trouble,
            is_stable=partial.is_stable,
        )
