"""Converts lines of JSON into events: what a line must contain.

No file is opened here. An unusable line raises a `BadLine`, whose message is in plain words; the caller, who
knows the file and the line number, puts them in front.
"""

import re
from typing import Generic, TypeVar

import msgspec

from connectors.files.contents import MAX_LINE_BYTES
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

_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "bytes": "base64 text",
    "array": "a list",
    "object": "an object in braces",
    "null": "nothing",
}
_FIELD = re.compile(r" - at `\$\.(.+)`$")


class BadLine(ValueError):  # noqa: N818 - it becomes an InputError once file and line are known
    """A line does not contain the expected event; the message names the field and what was expected.

    Args:
        is_json: Whether the line is JSON at all; a truncated line never is.
    """

    def __init__(self, message: str, *, is_json: bool = True) -> None:
        super().__init__(message)
        self.is_json = is_json


def event_name(event_type: type[Event]) -> str:
    """The name of this event type in the field ``event``."""
    return str(event_type.__struct_config__.tag)


def type_of_line(line: bytes) -> type[Event]:
    """The event type of a line, by its field ``event`` or else by its other fields.

    Raises:
        BadLine: when it is not an event.
    """
    fields = _decode(msgspec.json.Decoder(dict[str, msgspec.Raw]), line)
    if "event" in fields:
        name = _text(fields["event"])
        if name not in EVENT_TYPES:
            kind_name, _, version = name.partition("/")
            if kind_name in EVENT_TYPES and version.isdecimal():
                raise BadLine(
                    f'field "event": "{name[:40]}" is version {version[:30]} of it, but this surtitle '
                    "reads version 1; use the version of surtitle that wrote the file, or a newer one"
                )
            raise BadLine(f'field "event": expected one of {", ".join(EVENT_TYPES)}, found {name[:40]!r}')
        return EVENT_TYPES[name]
    for kind, needed in _NEEDED.items():
        if needed <= fields.keys():
            return kind
    # Of the types that share the most fields with the line, the one with the fewest missing fields.
    nearest = min(_NEEDED, key=lambda kind: (-len(_NEEDED[kind] & fields.keys()), len(_NEEDED[kind])))
    lacks = ", ".join(f'"{name}"' for name in sorted(_NEEDED[nearest] - fields.keys()))
    raise BadLine(f'not an event; for "{event_name(nearest)}" it lacks the fields {lacks}')


def _text(value: msgspec.Raw) -> str:
    try:
        return msgspec.json.decode(value, type=str)
    except msgspec.DecodeError:
        return bytes(value).decode()


class LineDecoder(Generic[E]):
    """Decodes lines that all contain events of one type; fields unknown to the type are ignored."""

    def __init__(self, event_type: type[E]) -> None:
        self._event_type = event_type
        self._decoder = msgspec.json.Decoder(event_type)

    def decode(self, line: bytes) -> E:
        """The event of one line.

        Raises:
            BadLine: when the line is not UTF-8, not JSON, or not such an event.
        """
        try:
            return _decode(self._decoder, line)
        except BadLine as bad:
            if str(bad).startswith('field "event"'):
                type_of_line(line)
                expected = event_name(self._event_type)
                raise BadLine(f'field "event": expected "{expected}", found another event') from None
            raise


D = TypeVar("D")


def _decode(decoder: msgspec.json.Decoder[D], line: bytes) -> D:
    if len(line) > MAX_LINE_BYTES:
        raise BadLine(f"expected at most {MAX_LINE_BYTES:,} bytes in a line, found more")
    try:
        # Decoded here rather than by msgspec, which does not check the fields that it skips.
        return decoder.decode(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise BadLine(f"not UTF-8 (byte {error.start + 1} of the line)", is_json=False) from None
    except RecursionError:
        raise BadLine("not an event: brackets are nested too deeply") from None
    except msgspec.ValidationError as error:
        raise BadLine(_in_words(str(error))) from None
    except msgspec.DecodeError as error:
        reason = str(error).removeprefix("JSON is malformed: ")
        if reason == "Input data was truncated":
            reason = "it ends in the middle"
        raise BadLine(f"not valid JSON: {reason}", is_json=False) from None


def _in_words(message: str) -> str:
    """Rephrases msgspec's message about a field for readers who know neither msgspec nor Python."""
    where = _FIELD.search(message)
    message = _FIELD.sub("", message)
    field = where.group(1).replace("[...]", "") if where else ""
    if missing := re.match(r"Object missing required field `(\w+)`", message):
        field = f"{field}.{missing.group(1)}".lstrip(".")
        return f'field "{field}" is missing'
    message = re.sub(r"`(\w+)` >= 0(\.0)?", lambda kind: f"{_WORDS[kind.group(1)]} from 0 up", message)
    message = re.sub(r"`(\w+)` (<|>)= (\S+)", _bound, message)
    message = re.sub(r"`(\w+)`", lambda kind: _WORDS.get(kind.group(1), kind.group(1)), message)
    message = message.replace(", got ", ", found ")
    message = message[:1].lower() + message[1:]
    return f'field "{field}": {message}' if field else message


def _bound(found: re.Match[str]) -> str:
    side = "at most" if found.group(2) == "<" else "at least"
    return f"{_WORDS[found.group(1)]} of {side} {float(found.group(3)):,.0f}"
