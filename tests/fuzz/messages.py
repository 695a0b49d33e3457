"""Messages of a topic: a key and a value that somebody else wrote."""

from pathlib import Path

from connectors.jsonl.files import LineDecoder
from connectors.kafka import DeadLetter, Received, event_of, message_of
from operators.events import Partial
from tests.fuzz.correct import Subject
from tests.fuzz.reading import LINES

DECODER = LineDecoder(Partial)


def check_message(data: bytes, folder: Path) -> None:  # noqa: ARG001 - no file is read
    """A message is an event of the stream in its key, or a dead letter that says why and keeps its bytes."""
    key, _, value = data.partition(b"\n")
    found = event_of(DECODER, _received(key, value))
    if isinstance(found, DeadLetter):
        sent = found.sent()
        assert (sent.key, sent.value) == (key, value)
        headers = {name: one.decode() for name, one in sent.headers}
        assert headers["size"] == str(len(value))
        assert 0 < len(headers["reason"]) < 2000
        assert headers["reason"].isprintable()
    else:
        assert found.stream.encode() == key
        again = message_of(found)
        assert event_of(DECODER, _received(again.key, again.value)) == found


def _received(key: bytes | None, value: bytes | None) -> Received:
    return Received(key, value, topic="in", partition=1, offset=7)


MESSAGES = Subject(
    check_message,
    (*(b"talk\n" + line for line in LINES.seeds[0].splitlines()), b"", b"talk\n"),
    (*LINES.tokens, b"talk", b"\n", b"\xff"),
    {},
)
