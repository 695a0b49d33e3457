"""Events in Kafka topics: one JSON object per message, as in a line of a file; the key is the stream."""

import json
import time
from collections.abc import Mapping
from functools import partial
from threading import Event as Flag
from typing import Any, NamedTuple, TypeAlias

import msgspec
from bytewax.connectors.kafka import KafkaSink, KafkaSinkMessage, KafkaSourceMessage, _KafkaSourcePartition
from bytewax.inputs import FixedPartitionedSource
from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient
from typing_extensions import override

from connectors.jsonl.files import BadLine, E, LineDecoder
from connectors.messages import log_event
from operators.errors import ClusterError, InputError, OutputError, SurtitleError, UsageError
from operators.events import Event

#: Messages as Bytewax reads and writes them.
SourceMessage: TypeAlias = KafkaSourceMessage[bytes | None, bytes | None]
SinkMessage: TypeAlias = KafkaSinkMessage[bytes | None, bytes | None]

#: Seconds to wait for a broker's answer.
ANSWER_S = 10.0
# Seconds between two log entries that no broker answers, and until an unsent message ends the run.
_LOG_S, _SEND_S = 60.0, 60.0
# Messages of a partition that are read between two snapshots: a killed job repeats them.
_MAX_AHEAD = 10_000
# Bytes of an unusable message that its dead letter keeps; every topic accepts that many.
_KEPT_BYTES = 65_536
# Characters of a key that a reason quotes.
_MAX_QUOTED = 40
# Errors that retrying does not fix.
_LASTING = (
    KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.UNSUPPORTED_SASL_MECHANISM,
)  # fmt: skip
# When it was last logged that no broker answers, by cluster.
_logged_s: dict[str, float] = {}


class Cluster(NamedTuple):
    brokers: tuple[str, ...]
    properties: Mapping[str, str] = {}

    @property
    def name(self) -> str:
        return ", ".join(self.brokers)

    def config(self, kind: type[SurtitleError], ours: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration of a client: lasting errors are of this ``kind``, and ``ours`` overrides."""
        # librdkafka would otherwise write to standard error.
        own = {"log_level": 0, "error_cb": partial(self.check, kind)}
        return {"client.id": "surtitle", **self.properties, **own, **ours}

    def check(self, kind: type[SurtitleError], error: KafkaError) -> None:
        """Log that no broker answers; raise an error that retrying does not fix."""
        if error.fatal() or error.code() in _LASTING:
            raise kind(f"Kafka at {self.name} cannot be used: {error.str()}; check the client's properties")
        now_s = time.monotonic()
        is_down = error.code() == KafkaError._ALL_BROKERS_DOWN
        if is_down and now_s - _logged_s.get(self.name, -_LOG_S) >= _LOG_S:
            _logged_s[self.name] = now_s
            log_event("kafka_unreachable", f"no broker of Kafka answers at {self.name}; trying again")


def partitions_of(cluster: Cluster, topic: str, kind: type[SurtitleError]) -> list[int]:
    """The partitions of a topic; a broker may create the topic now.

    Raises an error of this ``kind`` if no broker answers or the topic cannot be used, and `UsageError` for
    properties that librdkafka rejects.
    """
    # librdkafka reports a wrong password only to its callback, and keeps trying.
    errors: list[KafkaError] = []
    ours = {"bootstrap.servers": ",".join(cluster.brokers), "error_cb": errors.append}
    try:
        admin = AdminClient(cluster.config(kind, ours))
    except KafkaException as error:
        raise UsageError(
            f"the Kafka client cannot be created: {error.args[0].str()}; see the properties of client"
        ) from None
    try:
        found = admin.list_topics(topic, timeout=ANSWER_S).topics[topic]
    except KafkaException as error:
        admin.poll(0)
        reason = (errors or error.args)[0].str()
        raise kind(
            f"Kafka cannot be reached at {cluster.name}: {reason}; check that it runs, the addresses and "
            "the client's properties"
        ) from None
    if found.error is not None or not found.partitions:
        reason = found.error.str() if found.error else "it has no partitions"
        raise kind(f"the topic {topic} at {cluster.name} cannot be used: {reason}; create it first")
    return sorted(found.partitions)


class KafkaEventSource(FixedPartitionedSource[Any, int | None]):
    """The messages of a topic; Bytewax reads each of its partitions.

    The source waits for unreachable brokers. If the topic has changed, the job ends; start it again.

    Delivery: exactly once with recovery, because the positions are part of the snapshot. A message that a
    producer sent twice is delivered twice.

    Raises:
        InputError: while the flow runs, when the brokers refuse to be read.
        ClusterError: when the topic has more partitions than before, or was created again.
    """

    def __init__(self, cluster: Cluster, topic: str, stop: Flag) -> None:
        ours = {
            "bootstrap.servers": ",".join(cluster.brokers), "group.id": "surtitle",
            "enable.auto.commit": False, "auto.offset.reset": "error", "queued.max.messages.kbytes": 16_384,
            "topic.metadata.refresh.interval.ms": 10_000, "statistics.interval.ms": 5000,
        }  # fmt: skip
        self.config = cluster.config(InputError, ours)
        self.cluster, self.topic, self.stop = cluster, topic, stop
        #: Whether a job without a stored position begins at the end of the topic.
        self.at_end = cluster.properties.get("auto.offset.reset") in ("latest", "end", "largest")
        self.partitions = 0
        self._began: float | None = None

    def now(self) -> float:
        """Seconds since the source began; 0 before that."""
        return 0.0 if self._began is None else time.monotonic() - self._began

    @override
    def list_parts(self) -> list[str]:
        found = partitions_of(self.cluster, self.topic, InputError)
        self.partitions = len(found)
        return [f"{number}-{self.topic}" for number in found]

    @override
    def build_part(self, step_id: str, for_part: str, resume_state: int | None) -> "_Partition":
        self._began = self._began or time.monotonic()
        return _Partition(self, step_id, int(for_part.split("-", 1)[0]), resume_state)


class _Partition(_KafkaSourcePartition):
    def __init__(self, source: KafkaEventSource, step_id: str, number: int, resume: int | None) -> None:
        super().__init__(
            step_id, {**source.config}, source.topic, number, OFFSET_BEGINNING, resume, 1000, False
        )
        self._source, self._left = source, _MAX_AHEAD
        where = TopicPartition(source.topic, number)
        try:
            low, high = self._consumer.get_watermark_offsets(where, timeout=ANSWER_S)
        except KafkaException as error:
            raise InputError(
                f"the topic {source.topic} cannot be read at {source.cluster.name}, {error.args[0].str()}: "
                "check the broker, and start the job again"
            ) from None
        self._offset = low if resume is None and not source.at_end else high if resume is None else resume
        if not low <= self._offset <= high:
            lost = f"messages {self._offset} to {low - 1} were deleted before they were read"
            why = lost if self._offset < low else "it was deleted and created again"
            log_event(
                "kafka_begins_anew",
                f"partition {number} of {source.topic} is read from its beginning, message {low}: {why}",
            )
            self._offset = low
        self._consumer.assign([TopicPartition(source.topic, number, self._offset)])

    @override
    def next_batch(self) -> list[Any]:
        if self._source.stop.is_set():
            raise StopIteration
        if self._left <= 0:
            return []
        offset, found = self._offset, super().next_batch()
        messages = [one for one in found if isinstance(one, KafkaSourceMessage)]
        self._left -= len(messages)
        # Errors have no valid offset, but Bytewax would store theirs as the position.
        self._offset = int(messages[-1].offset or 0) + 1 if messages else offset
        for one in found:
            if not isinstance(one, KafkaSourceMessage):
                self._check(one.err)
        return messages

    def _check(self, error: KafkaError) -> None:
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise self._changed("has changed")
        self._source.cluster.check(InputError, error)

    def _changed(self, how: str) -> ClusterError:
        return ClusterError(
            f"the topic {self._source.topic} {how}: start the job again; with a recovery folder, it continues"
            " from the stored positions"
        )

    @override
    def _process_stats(self, json_stats: str) -> None:
        """Called every five seconds; an error that is raised here ends the flow."""
        topic = json.loads(json_stats)["topics"].get(self._source.topic, {})
        # Number -1 stands for messages without a partition.
        count = len(topic.get("partitions", {}).keys() - {"-1"})
        if count > self._source.partitions:
            raise self._changed(f"has {count} partitions instead of {self._source.partitions}")

    @override
    def snapshot(self) -> int:
        self._left = _MAX_AHEAD
        return int(self._offset)


class KafkaEventSink(KafkaSink):
    """Writes each message, and waits until the brokers have stored it, for a minute at most.

    Bytewax's own sink does not check whether a message was stored.

    Delivery: at least once. After a resume, messages since the last snapshot are written again. A repeat has
    the stream, segment and revision of an earlier message, and replaces it.

    Raises:
        OutputError: while the flow runs, when a message cannot be written.
    """

    def __init__(self, cluster: Cluster, topic: str) -> None:
        ours = {
            "acks": "all",
            # Retries may repeat messages, but must not change their order.
            "max.in.flight.requests.per.connection": 1,
            "message.timeout.ms": int(1000 * _SEND_S),
            "linger.ms": 0,
            # The broker decides whether a message is too large.
            "message.max.bytes": 100_000_000,
            "on_delivery": self._check,
        }
        super().__init__(cluster.brokers, topic, cluster.config(OutputError, ours))
        self._where = f"the topic {topic} at {cluster.name}"

    def _check(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            raise OutputError(
                f"{self._where} cannot be written: {error.str()}; check the topic and the cluster"
            )


class DeadLetter(NamedTuple):
    """A message that cannot be used, and the reason in plain words."""

    reason: str
    message: SourceMessage

    @property
    def place(self) -> str:
        return f"message {self.message.offset} of {self.message.topic}, partition {self.message.partition}"

    def sent(self) -> SinkMessage:
        """The message for the dead-letter topic: original key and bytes; reason and origin are headers."""
        key, value = self.message.key, self.message.value
        origin = {
            "reason": self.reason, "topic": self.message.topic, "partition": self.message.partition,
            "offset": self.message.offset, "size": -1 if value is None else len(value),
        }  # fmt: skip
        headers = [(name, str(one).encode(errors="replace")) for name, one in origin.items()]
        return KafkaSinkMessage(key, value and value[:_KEPT_BYTES], headers=headers)


def event_of(decoder: LineDecoder[E], message: SourceMessage) -> E | DeadLetter:
    if message.value is None:
        return DeadLetter("the message is empty; expected a JSON object", message)
    try:
        event = decoder.decode(message.value)
    except BadLine as bad:
        return DeadLetter(str(bad), message)
    if message.key is None:
        reason = "the message has no key; expected the stream, which keeps its messages in order"
        return DeadLetter(reason, message)
    if message.key != event.stream.encode(errors="replace"):
        key = message.key.decode(errors="backslashreplace")[:_MAX_QUOTED]
        stream = event.stream[:_MAX_QUOTED]
        return DeadLetter(f"the key of the message is {key!r}; expected its stream, {stream!r}", message)
    return event


def message_of(event: Event) -> SinkMessage:
    """The message of an event: the JSON of a line in a file, with the stream as the key."""
    return KafkaSinkMessage(event.stream.encode(errors="replace"), msgspec.json.encode(event))
