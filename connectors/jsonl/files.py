"""Reads files of events outside of a flow: their type, and whether their lines are valid and in order."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Generic

from connectors.files.contents import MAX_LINE_BYTES, open_regular
from connectors.jsonl.lines import BadLine, E, LineDecoder, type_of_line
from operators.errors import InputError, unreadable
from operators.events import Event, SegmentEvent

# Segments whose order is remembered, over all streams of a file; the least recently updated one is forgotten.
_MAX_REMEMBERED = 1024


class EventReader(Generic[E]):
    """Reads a file of events of one type by lines; blank ones are skipped.

    A segment's revisions must increase, and nothing may follow its final. Segments of any number of streams
    may interleave.

    Raises:
        InputError: from every method, when the file cannot be read or is not a regular file.
    """

    def __init__(self, path: Path, event_type: type[E]) -> None:
        self.path = path
        #: Start of the next line in bytes, and the number of the last one, counted from 1.
        self.offset = self.number = 0
        #: The last line, with its end if it has one.
        self.line = b""
        self._decoder = LineDecoder(event_type)
        # The last revision of each segment, and whether it was the final.
        self._known: dict[tuple[str, int], tuple[int, bool]] = {}
        self._file = open_regular(path, "the events")

    def read(self) -> E | None:
        """The event of the next line; None at the end of the file. Raises `BadLine` for any other line."""
        while True:
            try:
                self.line = self._file.readline(MAX_LINE_BYTES + 1)
            except OSError as error:
                raise InputError(unreadable(self.path, error)) from None
            if not self.line:
                return None
            self.offset += len(self.line)
            self.number += 1
            if not self.line.isspace():
                event = self._decoder.decode(self.line)
                self._check(event)
                return event

    def error(self, bad: BadLine) -> InputError:
        """The error about the last line."""
        return InputError(f"{self.path}, line {self.number}: {bad}; correct that line, or remove it")

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _check(self, event: Event) -> None:
        if not isinstance(event, SegmentEvent):
            return
        key = (event.channel, event.segment)
        before = self._known.get(key)
        if before is not None:
            revision, is_over = before
            if is_over:
                raise BadLine(f"segment {event.segment} already ended; expected another segment")
            if event.revision <= revision:
                raise BadLine(
                    f"expected a revision of segment {event.segment} above {revision}, found {event.revision}"
                )
            del self._known[key]
        elif len(self._known) >= _MAX_REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[key] = (event.revision, event.is_final)


def event_type_of(path: Path) -> type[Event]:
    """The event type of a file, by its first line that is an event at all.

    The search is limited to the maximum length of one line, so that a huge file of another kind costs little.

    Raises:
        InputError: when the file cannot be read or none of these lines is an event.
    """
    first = ""
    with open_regular(path, "the events") as file:
        for number, line in enumerate(file.read(MAX_LINE_BYTES).split(b"\n"), 1):
            if line.strip():
                try:
                    return type_of_line(line)
                except BadLine as bad:
                    first = first or f"{path}, line {number}: {bad}"
    raise InputError(f"{first or f'{path} is empty'}; give a file of events, one JSON object per line")


def validate(path: Path, event_type: type[Event]) -> int:
    """Read a file once to check that all of it can be used, and count its events.

    Raises:
        InputError: for the first unusable line, with file, line and what was expected.
    """
    return sum(1 for _ in read_events(path, event_type))


def read_events(path: Path, event_type: type[E], cut: Callable[[str], None] | None = None) -> Iterator[E]:
    """The events of a file, one at a time, outside of a flow.

    Args:
        cut: Gets a sentence when the last line is incomplete, as after a crash, and is skipped.

    Raises:
        InputError: for the first unusable line, with file, line and what was expected.
    """
    reader = EventReader(path, event_type)
    try:
        while (event := reader.read()) is not None:
            yield event
    except BadLine as bad:
        if cut is None or reader.line.endswith(b"\n"):
            raise reader.error(bad) from None
        cut(f"{path}, line {reader.number}: the file was cut there; all lines before it are used")
    finally:
        reader.close()
