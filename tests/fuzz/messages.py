"""Messages of a topic: a key and a value that somebody else wrote."""

from pathlib import Path

from connectors.kafka.messages import DeadLetter, MessageDecoder, Received, message_of
from operators.events import Partial
from tests.fuzz.correct import Subject
from tests.fuzz.reading import LINES

MAX_BYTES = 2_000


def check_message(data: bytes, folder: Path) -> None:  # noqa: ARG001 - no file is read
    """A message is an event of the stream in its key, or a dead letter that says why and keeps its bytes."""
    key, _, value = data.partition(b"\n")
    decoder = MessageDecoder(Partial, MAX_BYTES)
    found = decoder.decode(_received(key, value))
    if isinstance(found, DeadLetter):
        sent = found.message()
        assert (sent.key, sent.value) == (key, value)
        headers = {name: one.decode() for name, one in sent.headers}
        assert headers["size"] == str(len(value))
        assert 0 < len(headers["reason"]) < 2000
        assert headers["reason"].isprintable()
    else:
        assert found.stream.encode() == key
        again = message_of(found)
        assert MessageDecoder(Partial, 10 * MAX_BYTES).decode(_received(again.key, again.value)) == found


def _received(key: bytes | None, value: bytes | None) -> Received:
    return Received(key, value, topic="in", partition=1, offset=7)


MESSAGES = Subject(
    check_message,
    (*(b"talk\n" + line for line in LINES.seeds[0].splitlines()), b"", b"talk\n", b"talk\n" + b"x" * 3_000),
    (*LINES.tokens, b"talk", b"\n", b"\xff"),
    {},
)
