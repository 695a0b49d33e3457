"""Sends events to a topic and reads what comes back in another one, to measure a job."""

from collections.abc import Iterator
from typing import Generic, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from connectors.jsonl.lines import E
from connectors.kafka.client import CONNECT_S, Cluster, Connection, made
from connectors.kafka.messages import DeadLetter, MessageDecoder, message_of, received
from operators.errors import InputError, OutputError
from operators.events import Event

# Maximum number of messages that are read at once, and of bytes of one.
_MOST, _MAX_BYTES = 1000, 2**23


class Topic(NamedTuple):
    """A topic of a Kafka cluster."""

    cluster: Cluster
    name: str

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return f"the topic {self.name} at {self.cluster.name}"


class Exchange(Generic[E]):
    """The topic that a job reads, and one that it writes. For one thread.

    Delivery: at least once to the one that the job reads. Of the other one, every message is read that comes
    after this was made; what is no such event belongs to somebody else and is ignored.
    """

    def __init__(self, to: Topic, back: Topic, event_type: type[E]) -> None:
        """Begin to listen.

        Args:
            to: The topic to write.
            back: The topic to read.
            event_type: The type of the events that are read.

        Raises:
            InputError: when the topic to read cannot be read.
            UsageError: for a property that librdkafka does not know.
        """
        self._to, self._back = to, back
        self._connection = Connection(to.cluster, "what is sent meanwhile waits")
        ours = {"acks": "all", "linger.ms": 0, "error_cb": self._connection.on_error}
        self._producer: Producer = made(Producer, to.cluster.config(ours))
        self._refused: KafkaError | None = None
        self._decoder = MessageDecoder(event_type, _MAX_BYTES)
        self._consumer = self._listen()

    def _listen(self) -> Consumer:
        ours = {
            "group.id": "surtitle-load", "enable.auto.commit": False, "enable.auto.offset.store": False,
            "auto.offset.reset": "latest", "error_cb": self._connection.on_error,
        }  # fmt: skip
        consumer: Consumer = made(Consumer, self._back.cluster.config(ours))
        topic = self._back.name
        try:
            found = consumer.list_topics(topic, timeout=CONNECT_S).topics[topic].partitions
            where = [TopicPartition(topic, number) for number in found]
            # Offsets instead of "the end", which the client looks up later than it is asked to.
            for one in where:
                one.offset = consumer.get_watermark_offsets(one, timeout=CONNECT_S)[1]
        except KafkaException as error:
            consumer.close()
            raise InputError(
                f"{self._back.place} cannot be read: {error.args[0].str()}; check the topic and the cluster"
            ) from None
        consumer.assign(where)
        return consumer

    def send(self, event: Event) -> None:
        """Send an event, without waiting for the broker.

        Raises:
            OutputError: when the brokers have refused this event or an earlier one.
        """
        message = message_of(event)
        while True:
            self._producer.poll(0)
            self._check()
            try:
                self._producer.produce(
                    self._to.name, key=message.key, value=message.value, on_delivery=self._delivered
                )
            except BufferError:
                # Its queue is full.
                self._producer.poll(0.1)
            else:
                return

    def received(self, wait_s: float) -> Iterator[E]:
        """The events that have come back; waits so long for the first one.

        Raises:
            InputError: when the brokers refuse to be read.
            OutputError: when they have refused an event that was sent.
        """
        self._producer.poll(0)
        self._check()
        first = self._consumer.poll(wait_s)
        if first is None:
            return
        for message in (first, *self._consumer.consume(_MOST, timeout=0)):
            error = message.error()
            if error is not None:
                self._connection.on_error(error)
                continue
            self._connection.works()
            event = self._decoder.decode(received(message))
            if not isinstance(event, DeadLetter):
                yield event

    def close(self) -> None:
        """Hang up; what the brokers have not stored is dropped."""
        self._producer.purge()
        self._consumer.close()

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        self._refused = self._refused or error

    def _check(self) -> None:
        if self._refused is not None:
            raise OutputError(
                f"{self._to.place} cannot be written: {self._refused.str()}; check the topic and the cluster"
            )
        if (fatal := self._connection.fatal) is not None:
            raise InputError(
                f"{self._back.place} cannot be read: {fatal.str()}; check the topic and the cluster"
            )
