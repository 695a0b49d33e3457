"""Reads files of events outside of a flow: their type, and whether their lines are valid and in order."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from connectors.files.contents import MAX_LINE_BYTES, LineReader
from connectors.jsonl.lines import BadLine, E, LineDecoder, type_of_line
from operators.errors import InputError
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
        key = (event.channel, event.segment)
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


def event_type_of(path: Path) -> type[Event]:
    """The event type of a file, judged by its first line that is an event at all.

    The search is limited to the maximum length of one line, so that a huge file of another kind costs little.

    Raises:
        InputError: when the file cannot be read or none of these lines is an event.
    """
    first_bad: InputError | None = None
    with LineReader(path) as lines:
        for line in lines:
            try:
                return type_of_line(line)
            except BadLine as bad:
                first_bad = first_bad or input_error(lines, bad, line, skips_bad=False)
            if lines.offset > MAX_LINE_BYTES:
                break
    raise first_bad or InputError(f"{path} is empty; give a file of events, one JSON object per line")


def validate(path: Path, event_type: type[Event]) -> int:
    """Read a file once to check that all of it can be used, and count its events.

    Raises:
        InputError: for the first unusable line, with file, line, field and what was expected.
    """
    return sum(1 for _ in read_events(path, event_type, skips_bad=True))


def read_events(
    path: Path, event_type: type[E], cut: Callable[[str], None] | None = None, *, skips_bad: bool = False
) -> Iterator[E]:
    """The events of a file, one at a time, outside of a flow.

    Args:
        cut: Gets a sentence when the last line is incomplete, as after a crash, and is skipped.
        skips_bad: Whether the command has the option ``--skip-bad``.

    Raises:
        InputError: for the first unusable line, with file, line, field and what was expected.
    """
    decoder, order = LineDecoder(event_type), SegmentOrder()
    with LineReader(path) as lines:
        for line in lines:
            try:
                event = decoder.decode(line)
                order.check(event, lines.number)
            except BadLine as bad:
                if cut is None or not is_cut(line, bad):
                    raise input_error(lines, bad, line, skips_bad=skips_bad) from None
                cut(f"{path}, line {lines.number}: the file was cut there; all lines before it are used")
                return
            yield event


def is_cut(line: bytes, bad: BadLine) -> bool:
    """Whether the last line of a file was only partly written."""
    return not line.endswith(b"\n") and not bad.is_json


def input_error(lines: LineReader, bad: BadLine, line: bytes, *, skips_bad: bool) -> InputError:
    """An error that names the file, the line, the problem and, if there is one, the option against it."""
    what_to_do = "correct that line, or remove it"
    if is_cut(line, bad):
        what_to_do = f"the file was cut there: remove that line{', or use --skip-bad' if skips_bad else ''}"
    elif lines.number == 1 and not bad.is_json:
        what_to_do = "give a file of events, one JSON object per line"
    return InputError(f"{lines.path}, line {lines.number}: {bad}; {what_to_do}")
