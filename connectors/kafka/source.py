"""Reads events from a topic of Kafka."""

import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Generic

import msgspec
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from typing_extensions import override

from connectors.jsonl.lines import E
from connectors.kafka.client import Cluster, Connection, TopicWatch, made
from connectors.kafka.messages import DeadLetter, MessageDecoder, received
from connectors.kafka.settings import KafkaInput
from connectors.messages import tell
from connectors.pacing import ALWAYS_DUE
from operators.errors import InputError

#: Parts of this source, each with every eighth partition of the topic. Their number does not follow the
#: topic's, so that partitions can be added while a job runs. Changing it needs a new schema of the folder.
SLOTS = 8
# Seconds that a part with nothing to read waits: with all of them on one worker, 4 ms.
_NAP_S = 0.0005
# Messages that a part reads between two snapshots: at first, at least and at most.
_FIRST_BUDGET, _MIN_BUDGET, _MAX_BUDGET = 256, 16, 16_384
# Messages read at once.
_BATCH = 1000
# Seconds to wait for a broker's answer about a position.
_ANSWER_S = 2.0


class KafkaPosition(msgspec.Struct, frozen=True):
    """The resume state of a part of the source."""

    #: The next offset of each partition.
    offsets: dict[int, int] = {}


class Budget:
    """Limits how many messages are read between two snapshots.

    A snapshot is made when everything before it is done, and a killed job repeats what came after it. So
    while reading is faster than the stages, fewer messages are read at a time.
    """

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._size = self.left = _FIRST_BUDGET
        self._began = time.monotonic()

    def next(self) -> None:
        """A snapshot was made."""
        now = time.monotonic()
        if now - self._began > 2 * self._interval_s + 1.0:
            self._size = max(_MIN_BUDGET, self._size // 2)
        elif self.left <= 0:
            self._size = min(_MAX_BUDGET, self._size * 2)
        self.left, self._began = self._size, now


class KafkaEventSource(FixedPartitionedSource[E | DeadLetter, KafkaPosition], Generic[E]):
    """The events of a topic, and the messages that cannot be used.

    Each message holds an event as JSON, with its stream as the key, so that Kafka keeps a stream in order.
    Bytewax's own source ends with the first error of a broker that is away, or else loses its position with
    it, and does not read partitions that are added.

    Delivery: exactly once with recovery, for what is in the topic once: the positions are part of the
    snapshot. What a producer sent twice comes twice.

    Args:
        given: The settings; the topic must be given.
        interval_s: Seconds between two snapshots.
        stop: When set, the source ends.
        rejected: Called for each message that cannot be used, on any worker's thread.

    Raises:
        InputError: while the flow runs, when the brokers refuse to be read; without a topic for dead letters
            also for the first one.
    """

    def __init__(
        self,
        given: KafkaInput,
        event_type: type[E],
        *,
        stop: threading.Event,
        interval_s: float = 10.0,
        rejected: Callable[[], None] = lambda: None,
    ) -> None:
        self.given, self.event_type, self.interval_s, self.stop = given, event_type, interval_s, stop
        self.topic = str(given.topic)
        self.cluster = Cluster(given.brokers, given.client)
        self.connection = Connection(self.cluster, "what is in the topic is read when one does")
        self._rejected, self._rejections = rejected, 0
        self._lock = threading.Lock()
        self._watch: TopicWatch | None = None
        self._began: float | None = None

    def now(self) -> float:
        """Seconds since the source began; 0 before that."""
        return 0.0 if self._began is None else time.monotonic() - self._began

    def watch(self) -> TopicWatch:
        """The watch of the topic, which the parts in this process share."""
        with self._lock:
            if self._watch is None:
                self._began = time.monotonic()
                self._watch = TopicWatch(self.cluster, self.topic, self.connection)
            return self._watch

    def reject(self, letter: DeadLetter) -> None:
        """Count a message that cannot be used, and tell the user about some of them.

        Raises:
            InputError: without a topic to keep it in.
        """
        if self.given.dead_letters is None:
            raise InputError(
                f"{letter.place}: {letter.reason}; name a topic for such messages in input.kafka.dead_letters"
            )
        with self._lock:
            self._rejections += 1
            count = self._rejections
        self._rejected()
        if count == 10 ** (len(str(count)) - 1):
            many = f"; {count} messages by now" if count > 1 else ""
            tell(
                "kafka_dead_letter",
                f"{letter.place} cannot be used and goes to {self.given.dead_letters}: {letter.reason}{many}",
                topic=letter.topic, partition=letter.partition, offset=letter.offset, count=count,
            )  # fmt: skip

    def close(self) -> None:
        """End the watch."""
        if self._watch is not None:
            self._watch.close()

    @override
    def list_parts(self) -> list[str]:
        return [f"{slot}" for slot in range(SLOTS)]

    @override
    def build_part(self, step_id: str, for_part: str, resume_state: KafkaPosition | None) -> "_Part[E]":
        return _Part(self, int(for_part), resume_state)


class _Part(StatefulSourcePartition[E | DeadLetter, KafkaPosition], Generic[E]):
    def __init__(self, source: KafkaEventSource[E], slot: int, resume: KafkaPosition | None) -> None:
        self._source, self._slot, self._watch = source, slot, source.watch()
        # Partitions that the topic had when the job began; None until they are known.
        self._first: set[int] | None = None if resume is None else set()
        self._offsets = dict(resume.offsets) if resume else {}
        self._decoder = MessageDecoder(source.event_type, source.given.max_message_bytes)
        self._budget = Budget(source.interval_s)
        self._consumer: Consumer | None = None
        self._assigned: set[int] = set()

    @override
    def next_batch(self) -> list[E | DeadLetter]:
        if self._source.stop.is_set():
            raise StopIteration
        if (fatal := self._source.connection.fatal) is not None:
            raise InputError(
                f"the topic {self._source.topic} cannot be read at {self._source.cluster.name}: "
                f"{fatal.str()}; check the topic and the cluster"
            )
        self._assign()
        batch = list(self._read()) if self._consumer and self._budget.left > 0 else []
        if not batch:
            time.sleep(_NAP_S)
        return batch

    def _assign(self) -> None:
        """Start to read the partitions of this slot that are new, or have begun anew."""
        known = self._watch.partitions
        mine = {number for number in known if number % SLOTS == self._slot}
        if self._first is None and known:
            self._first = mine
        for number in sorted(mine - self._assigned):
            self._begin(number)
        for number in self._assigned & self._watch.begun_anew:
            self._begin_anew(number)

    def _begin(self, number: int) -> None:
        consumer = self._consumer = self._consumer or self._make_consumer()
        if number not in self._offsets:
            low_high = self._ends(consumer, number)
            if low_high is None:
                return
            at_end = number in (self._first or ()) and self._source.given.start == "end"
            self._offsets[number] = low_high[at_end]
        consumer.incremental_assign([TopicPartition(self._source.topic, number, self._offsets[number])])
        self._assigned.add(number)

    def _make_consumer(self) -> Consumer:
        source = self._source
        made_: Consumer = made(
            Consumer,
            source.cluster.config(
                {
                    "group.id": source.given.group or "surtitle",
                    "enable.auto.commit": False,
                    "enable.auto.offset.store": False,
                    # Not silently: messages that were deleted unread are lost, and the user is told.
                    "auto.offset.reset": "error",
                    # What librdkafka reads ahead for each part.
                    "queued.max.messages.kbytes": 16_384,
                    "error_cb": source.connection.on_error,
                }
            ),
        )
        return made_

    def _ends(self, consumer: Consumer, number: int) -> tuple[int, int] | None:
        """The first and the next offset of a partition; None when no broker answers."""
        where = TopicPartition(self._source.topic, number)
        try:
            ends: tuple[int, int] = consumer.get_watermark_offsets(where, timeout=_ANSWER_S, cached=False)
        except KafkaException:
            return None
        return ends

    def _begin_anew(self, number: int) -> None:
        """Continue where a partition begins by now: what was at the position is not there any more."""
        consumer = self._consumer
        ends = self._ends(consumer, number) if consumer else None
        if consumer is None or ends is None:
            return
        self._watch.begun_anew.discard(number)
        source, before = self._source, self._offsets[number]
        lost = (
            f"its messages {before} to {ends[0] - 1} were deleted before they were read"
            if before < ends[0] else "it was deleted and made again"
        )  # fmt: skip
        tell(
            "kafka_begins_anew",
            f"partition {number} of {source.topic} is read from its beginning, message {ends[0]}: {lost}",
            topic=source.topic, partition=number, offset=ends[0],
        )  # fmt: skip
        self._offsets[number] = ends[0]
        where = TopicPartition(source.topic, number, ends[0])
        consumer.incremental_unassign([where])
        consumer.incremental_assign([where])

    def _read(self) -> Iterator[E | DeadLetter]:
        assert self._consumer is not None
        for message in self._consumer.consume(min(_BATCH, self._budget.left), timeout=0):
            error = message.error()
            if error is not None:
                self._take_error(message, error)
                continue
            number, offset = message.partition(), message.offset()
            if offset < self._offsets[number]:
                continue
            self._offsets[number] = offset + 1
            self._budget.left -= 1
            event = self._decoder.decode(received(message))
            if isinstance(event, DeadLetter):
                self._source.reject(event)
            yield event

    def _take_error(self, message: Message, error: KafkaError) -> None:
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            # Until it succeeds: librdkafka does not go on with this partition by itself.
            self._watch.begun_anew.add(message.partition())
        else:
            self._source.connection.on_error(error)

    @override
    def next_awake(self) -> datetime | None:
        return ALWAYS_DUE

    @override
    def snapshot(self) -> KafkaPosition:
        self._budget.next()
        self._report()
        return KafkaPosition(dict(self._offsets))

    def _report(self) -> None:
        """Let tools that show lag see the positions."""
        if self._source.given.group is None or self._consumer is None:
            return
        read = [
            TopicPartition(self._source.topic, number, self._offsets[number]) for number in self._assigned
        ]
        if read:
            self._consumer.commit(offsets=read, asynchronous=True)

    @override
    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
