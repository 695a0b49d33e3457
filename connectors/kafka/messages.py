"""Messages of Kafka as events, and those that cannot be used as dead letters."""

from typing import Generic, NamedTuple

import msgspec
from bytewax.connectors.kafka import KafkaSinkMessage, KafkaSourceMessage
from confluent_kafka import Message

from connectors.jsonl.lines import BadLine, E, LineDecoder
from operators.events import Event

#: A message as it is read, and as it is written.
Received = KafkaSourceMessage[bytes | None, bytes | None]
Sent = KafkaSinkMessage[bytes | None, bytes | None]

# Maximum characters of a key that a reason quotes.
_MAX_QUOTED = 40


class DeadLetter(NamedTuple):
    """A message that cannot be used."""

    #: Why, in plain words.
    reason: str
    #: Where it came from.
    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None

    @property
    def place(self) -> str:
        """Where it came from, for the user."""
        return f"message {self.offset} of {self.topic}, partition {self.partition}"

    def message(self) -> Sent:
        """The message for the topic of dead letters: its own key and bytes; the headers tell the rest."""
        size = -1 if self.value is None else len(self.value)
        told = {
            "reason": self.reason, "topic": self.topic, "partition": self.partition, "offset": self.offset,
            "size": size,
        }  # fmt: skip
        headers = [(name, str(value).encode(errors="replace")) for name, value in told.items()]
        return KafkaSinkMessage(self.key, self.value, headers=headers)


class MessageDecoder(Generic[E]):
    """Decodes messages that all hold events of one type."""

    def __init__(self, event_type: type[E], max_bytes: int) -> None:
        self._lines = LineDecoder(event_type)
        self._max_bytes = max_bytes

    def decode(self, message: Received) -> E | DeadLetter:
        """The event of a message, or why there is none."""
        try:
            return self._event(message)
        except BadLine as bad:
            return DeadLetter(
                str(bad), message.topic or "", message.partition or 0, message.offset or 0, message.key,
                message.value,
            )  # fmt: skip

    def _event(self, message: Received) -> E:
        if message.value is None:
            raise BadLine("the message is empty; expected a JSON object")
        if len(message.value) > self._max_bytes:
            raise BadLine(f"expected at most {self._max_bytes:,} bytes, found {len(message.value):,}")
        event = self._lines.decode(message.value)
        if message.key is None:
            raise BadLine("the message has no key; expected the stream, which keeps its messages in order")
        if message.key != event.stream.encode(errors="replace"):
            key, stream = (repr(one[:_MAX_QUOTED]) for one in (_text(message.key), event.stream))
            raise BadLine(f"the key of the message is {key}; expected its stream, {stream}")
        return event


def _text(key: bytes) -> str:
    return key.decode(errors="backslashreplace")


def received(message: Message) -> Received:
    """A message of the client."""
    return KafkaSourceMessage(
        key=message.key(), value=message.value(), topic=message.topic(), partition=message.partition(),
        offset=message.offset(),
    )  # fmt: skip


_encoder = msgspec.json.Encoder()


def message_of(event: Event) -> Sent:
    """The message of an event: what a line of a file holds, with the stream as the key."""
    return KafkaSinkMessage(event.stream.encode(errors="replace"), _encoder.encode(event))
