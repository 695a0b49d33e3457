"""Writes messages to a topic of Kafka."""

import threading
from functools import partial
from time import monotonic

from bytewax.outputs import DynamicSink, StatelessSinkPartition
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from typing_extensions import override

from connectors.kafka.client import Cluster, Connection, made
from connectors.kafka.messages import Sent
from operators.errors import OutputError

# Seconds between two looks whether the run is to end while no broker answers, and how long it then waits.
_LOOK_S, _LAST_S = 0.2, 5.0
# Larger than any message that is read: whether one is too large is the broker's to say.
_MAX_BYTES = 100_000_000
# Bytes that are kept of a message that the broker finds too large.
_KEPT_BYTES = 65_536


class KafkaEventSink(DynamicSink[Sent]):
    """Writes each message, and waits until the brokers have stored it.

    While no broker answers, it waits, and so do the stages before it; nothing is lost. Bytewax's own sink
    does not look at what becomes of a message, and loses it when a broker is away for five minutes.

    Delivery: at least once. After a resume, messages since the last snapshot are written again; a reader
    knows them by stream, segment and revision, of which the last message counts.

    Args:
        stop: When set, it no longer waits for brokers that do not answer.
        cuts: Whether only the beginning of a message is written if the brokers find it too large.

    Raises:
        OutputError: while the flow runs, when the brokers refuse a message, or when the run is to end before
            they have stored all.
    """

    def __init__(self, cluster: Cluster, topic: str, stop: threading.Event, *, cuts: bool = False) -> None:
        self.cluster, self.topic, self.stop, self.cuts = cluster, topic, stop, cuts
        self.connection = Connection(cluster, f"what is for {topic} waits until one does")

    @override
    def build(self, step_id: str, worker_index: int, worker_count: int) -> StatelessSinkPartition[Sent]:
        producer: Producer = made(
            Producer,
            self.cluster.config(
                {
                    "acks": "all",
                    # Repeats are allowed, but not another order.
                    "max.in.flight.requests.per.connection": 1,
                    "message.timeout.ms": 0,
                    "linger.ms": 0,
                    "message.max.bytes": _MAX_BYTES,
                    "error_cb": self.connection.on_error,
                }
            ),
        )
        return _Partition(self, producer)


class _Partition(StatelessSinkPartition[Sent]):
    def __init__(self, sink: KafkaEventSink, producer: Producer) -> None:
        self._sink, self._producer = sink, producer
        self._refused: KafkaError | None = None
        self._waits_until: float | None = None

    @override
    def write_batch(self, items: list[Sent]) -> None:
        for message in items:
            self._send(message)
        while self._producer.flush(_LOOK_S):
            self._check()
        self._check()
        self._sink.connection.works()

    def _check(self) -> None:
        error = self._refused or self._sink.connection.fatal
        if error is not None:
            raise self._fails(error.str())
        if not self._sink.stop.is_set() or not len(self._producer):
            return
        self._waits_until = self._waits_until or monotonic() + _LAST_S
        if monotonic() >= self._waits_until:
            raise self._fails(
                f"no broker answers, and {len(self._producer)} messages are left; with a recovery folder, "
                "the same command writes them later"
            )

    def _fails(self, why: str) -> OutputError:
        place = f"the topic {self._sink.topic} at {self._sink.cluster.name}"
        return OutputError(f"{place} cannot be written: {why}; check the topic and the cluster")

    def _send(self, message: Sent) -> None:
        while True:
            try:
                self._producer.produce(
                    self._sink.topic, key=message.key, value=message.value, headers=message.headers,
                    on_delivery=partial(self._delivered, message),
                )  # fmt: skip
            except BufferError:
                # Its queue is full.
                self._producer.poll(_LOOK_S)
                self._check()
            except KafkaException as error:
                self._delivered(message, error.args[0], None)
                return
            else:
                return

    def _delivered(self, sent: Sent, error: KafkaError | None, _message: Message | None) -> None:
        if error is None:
            return
        value = sent.value or b""
        if error.code() == KafkaError.MSG_SIZE_TOO_LARGE and self._sink.cuts and len(value) > _KEPT_BYTES:
            headers = [*sent.headers, ("cut", b"the value is only the beginning of the message's")]
            self._producer.produce(
                self._sink.topic, key=sent.key, value=value[:_KEPT_BYTES], headers=headers,
                on_delivery=partial(self._delivered, type(sent)(sent.key, value[:_KEPT_BYTES])),
            )  # fmt: skip
        else:
            self._refused = error

    @override
    def close(self) -> None:
        """Everything is delivered, or an error was raised."""
        self._producer.purge()
