"""Reads events from JSON lines: detects their type, and checks that lines are valid and in order."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from connectors.files.contents import DAMAGED, MAX_LINE_BYTES, open_regular
from operators.errors import InputError, unreadable
from operators.events import AudioChunk, Caption, ErasureRecord, Event, Partial, SegmentEvent, Translation

E = TypeVar("E", bound=Event)

#: Every event type by its name in the field ``event``.
EVENT_TYPES: dict[str, type[Event]] = {
    str(kind.__struct_config__.tag): kind
    for kind in (AudioChunk, Partial, Translation, Caption, ErasureRecord)
}

# The fields that each type must have, most specific type first: a translation has all fields of a partial.
_NEEDED = {
    kind: {field.encode_name for field in msgspec.structs.fields(kind) if field.required}
    for kind in sorted(EVENT_TYPES.values(), key=lambda kind: -len(msgspec.structs.fields(kind)))
}

# Segments whose order is remembered, over all streams of a file; the least recently updated one is forgotten.
_MAX_REMEMBERED = 1024


class BadLine(ValueError):  # noqa: N818 - it becomes an InputError once file and line are known
    """A line does not contain the expected event."""


class LineDecoder(Generic[E]):
    """Decodes lines that all contain events of one type; fields unknown to the type are ignored."""

    def __init__(self, event_type: type[E]) -> None:
        self._decoder = msgspec.json.Decoder(event_type)

    def decode(self, line: bytes) -> E:
        """The event of one line. Raises `BadLine` when it is something else."""
        if len(line) > MAX_LINE_BYTES:
            raise BadLine(f"expected at most {MAX_LINE_BYTES:,} bytes in a line, found more")
        try:
            # Decoded here rather than by msgspec, which does not check the fields that it skips.
            return self._decoder.decode(line.decode("utf-8-sig"))
        except DAMAGED as error:
            raise BadLine(str(error)) from None


class _Fields(msgspec.Struct):
    """The name of an event, which other programs may leave out."""

    event: str | None = None


def type_of_line(line: bytes) -> type[Event]:
    """The event type of a line, by its field ``event`` or else by its other fields.

    Raises:
        BadLine: when it is not an event.
    """
    try:
        text = line.decode("utf-8-sig")
        name = msgspec.json.decode(text, type=_Fields).event
        there = msgspec.json.decode(text, type=dict[str, msgspec.Raw]).keys()
    except DAMAGED as error:
        raise BadLine(str(error)) from None
    if name is None:
        for kind, needed in _NEEDED.items():
            if needed <= there:
                return kind
        raise BadLine(f'not an event: it has no field "event", and not all fields of any of {_names()}')
    if name not in EVENT_TYPES:
        raise BadLine(f"expected one of {_names()} in the field event, found {name[:40]!r}")
    return EVENT_TYPES[name]


def _names() -> str:
    return ", ".join(EVENT_TYPES)


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
        return InputError(f"{self.path}, line {self.number}: {bad}; correct that line, or remove it")

    def close(self) -> None:
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
    """The event type of a file, by its first line that is an event.

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
        cut: Called with a message when an incomplete last line is skipped, as after a crash.

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
