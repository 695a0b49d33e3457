"""Converts lines of JSON into events: one event per line, of one type per file."""

from typing import Generic, TypeVar

import msgspec

from connectors.files.contents import DAMAGED, MAX_LINE_BYTES
from operators.events import AudioChunk, Caption, ErasureRecord, Event, Partial, Translation

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
