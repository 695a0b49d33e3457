"""The messages of a speaker's WebSocket, each a JSON object in a text frame; sound is in binary frames.

The captions of the room are sent as the messages of `connectors.web.messages`. docs/formats.md describes all.
"""

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec

from connectors.web.messages import Languages, Message

#: Maximum number of characters of a room's name.
MAX_NAME = 80
_Short = Annotated[str, msgspec.Meta(max_length=MAX_NAME)]


class OpenRequest(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="open"):
    """The first message of a speaker: opens a room, or continues the one with this key."""

    room: _Short = ""
    #: Languages by name or code; absent for the server's first ones. Commas separate several for captions.
    source: _Short | None = msgspec.field(name="from", default=None)
    target: _Short | None = msgspec.field(name="to", default=None)
    key: _Short | None = None
    #: Id of the last caption message that the speaker has; the captions continue after it.
    last: _Short | None = None


class NameRequest(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="name"):
    """Rename a voice of the room from now on; ``speaker`` is its present name in captions."""

    speaker: str
    name: str


class End(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="end"):
    """The speaker has finished: the room ends after its last caption."""


class OpenResponse(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="opened"):
    """The room is open: sound may be sent."""

    #: Name of the room's stream of captions.
    stream: str
    #: The secret with which the speaker continues the room after the connection was lost.
    key: str
    #: The secret with which others read the captions.
    view: str
    language: Languages
    #: Bytes of sound that were received so far.
    received: int


class AudioAck(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="received"):
    """All sound up to here was received and will be captioned."""

    #: Bytes of sound so far.
    received: int
    #: The end of this sound on the clock of the captions' ``start_s`` and ``end_s``.
    at_s: float


class Notice(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="notice"):
    """Something that the speaker should know; the connection continues."""

    sentence: str


class Refusal(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="refused"):
    """Why the server closes the connection."""

    sentence: str


#: Messages from a speaker, and to one.
FromSpeaker = OpenRequest | NameRequest | End
ToSpeaker = OpenResponse | AudioAck | Notice | Refusal


def _decoded(text: str | bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def decoded(text: str) -> FromSpeaker | None:
    """A speaker's message; None if it is invalid."""
    message: FromSpeaker | None = _decoded(text, FromSpeaker)
    return message


def said_by_server(text: str | bytes) -> ToSpeaker | Message | None:
    """A message of a server to a speaker; None if it is invalid."""
    message: ToSpeaker | Message | None = _decoded(text, ToSpeaker | Message)
    return message


def encoded(message: ToSpeaker) -> str:
    return msgspec.json.encode(message).decode()


def frames(events: bytes) -> Iterator[str]:
    """The captions' messages in a piece of an event stream, each as a JSON object that has its ``id``."""
    for event in events.split(b"\n\n"):
        head, found, data = event.partition(b"\ndata: ")
        if found:
            yield (b'{"id":"%s",%s' % (head.removeprefix(b"id: "), data[1:])).decode()
