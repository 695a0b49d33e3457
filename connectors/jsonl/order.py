"""The order in which a file's events may come, and how much of it is remembered."""

from typing import NamedTuple

import msgspec

from connectors.jsonl.lines import BadLine
from operators.events import Event, SegmentEvent

# Segments whose order is remembered, over all streams of a file; the least recently updated one is forgotten.
_MAX_REMEMBERED = 1024
# Stands for the line at which a segment ended, when that is no longer known.
_UNKNOWN_LINE = 0


class SegmentProgress(NamedTuple):
    """A segment's last revision and, once its final has come, the line of that final, if known."""

    revision: int
    ended_at_line: int | None


class KnownSegments(msgspec.Struct, frozen=True):
    """The state of known segments by stream, compact enough to take only the space of the open ones."""

    #: Revisions of open segments.
    open: dict[str, dict[int, int]] = {}
    #: Ranges of consecutive segments that have ended: first and last.
    ended: dict[str, list[tuple[int, int]]] = {}


class SegmentOrder:
    """Checks that a segment's revisions only increase and that nothing follows its final.

    Segments of any number of streams may interleave. Memory is bounded: the 1024 most recently updated
    segments are tracked completely, the others not at all.
    """

    def __init__(self, known: KnownSegments | None = None) -> None:
        known = known or KnownSegments()
        self._known: dict[tuple[str, int], SegmentProgress] = {}
        for stream, runs in known.ended.items():
            for first, last in runs:
                for segment in range(first, last + 1):
                    self._known[stream, segment] = SegmentProgress(0, _UNKNOWN_LINE)
        for stream, revisions in known.open.items():
            for segment, revision in revisions.items():
                self._known[stream, segment] = SegmentProgress(revision, None)

    def snapshot(self) -> KnownSegments:
        """The state from which another instance can be built."""
        open_segments: dict[str, dict[int, int]] = {}
        ended: dict[str, list[tuple[int, int]]] = {}
        for (stream, segment), state in sorted(self._known.items()):
            if state.ended_at_line is None:
                open_segments.setdefault(stream, {})[segment] = state.revision
                continue
            runs = ended.setdefault(stream, [])
            if runs and runs[-1][1] == segment - 1:
                runs[-1] = (runs[-1][0], segment)
            else:
                runs.append((segment, segment))
        return KnownSegments(open_segments, ended)

    def check(self, event: Event, line: int) -> None:
        """Check and record the event in this line.

        Raises:
            BadLine: when the event may not come here; it is not recorded then.
        """
        if not isinstance(event, SegmentEvent):
            return
        key = (event.stream, event.segment)
        before = self._known.get(key)
        if before is not None:
            if before.ended_at_line is not None:
                at = f" at line {before.ended_at_line}" if before.ended_at_line != _UNKNOWN_LINE else ""
                raise BadLine(
                    f'field "segment": segment {event.segment} already ended{at}; expected another segment'
                )
            if event.revision <= before.revision:
                raise BadLine(
                    f'field "revision": expected more than {before.revision}, the revision of segment '
                    f"{event.segment} before it, found {event.revision}"
                )
            del self._known[key]
        elif len(self._known) >= _MAX_REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[key] = SegmentProgress(event.revision, line if event.is_final else None)
