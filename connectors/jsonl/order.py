"""In which order the events of a file may come, and what of that is to be remembered."""

from typing import NamedTuple

import msgspec

from connectors.jsonl.lines import BadLine
from operators.events import Event, SegmentEvent

# Segments whose order is remembered, over all streams of a file; the least recently updated is forgotten.
_REMEMBERED = 1024
# The line at which a segment ended, when it is no longer known.
_SOMEWHERE = 0


class SegmentProgress(NamedTuple):
    """What is known of a segment: its last revision, and once its final came the line of that, if known."""

    revision: int
    ended_at_line: int | None


class KnownSegments(msgspec.Struct, frozen=True):
    """What is known of segments, by stream, in the room that the open ones take."""

    #: Revisions of open segments.
    open: dict[str, dict[int, int]] = {}
    #: First and last of the segments that ended one after the other.
    ended: dict[str, list[tuple[int, int]]] = {}


class SegmentOrder:
    """Sees to it that a segment's revisions only grow and that nothing follows its final.

    Segments of any number of streams may interleave. Memory is bounded: of the 1024 segments that were
    updated last everything is known, of others nothing.
    """

    def __init__(self, known: KnownSegments | None = None) -> None:
        known = known or KnownSegments()
        self._known: dict[tuple[str, int], SegmentProgress] = {}
        for stream, runs in known.ended.items():
            for first, last in runs:
                for segment in range(first, last + 1):
                    self._known[stream, segment] = SegmentProgress(0, _SOMEWHERE)
        for stream, revisions in known.open.items():
            for segment, revision in revisions.items():
                self._known[stream, segment] = SegmentProgress(revision, None)

    def snapshot(self) -> KnownSegments:
        """What to build another one from."""
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
        """Take note of the event in this line.

        Raises:
            BadLine: when it may not come here; it is then not taken note of.
        """
        if not isinstance(event, SegmentEvent):
            return
        key = (event.stream, event.segment)
        before = self._known.get(key)
        if before is not None:
            if before.ended_at_line is not None:
                at = f" at line {before.ended_at_line}" if before.ended_at_line != _SOMEWHERE else ""
                raise BadLine(
                    f'field "segment": segment {event.segment} already ended{at}; expected another segment'
                )
            if event.revision <= before.revision:
                raise BadLine(
                    f'field "revision": expected more than {before.revision}, the revision of segment '
                    f"{event.segment} before it, found {event.revision}"
                )
            del self._known[key]
        elif len(self._known) >= _REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[key] = SegmentProgress(event.revision, line if event.is_final else None)
