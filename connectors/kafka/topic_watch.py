"""Watches a topic from a thread of its own: which partitions it has, and whether it has begun anew."""

import threading
from collections.abc import Callable

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from connectors.kafka.client import Cluster, Connection, made

#: Seconds between two checks.
_LOOK_S = 3.0
# Maximum seconds to wait for an answer.
_ANSWER_S = 10.0


class TopicWatch:
    """Knows the partitions of a topic; a job reads those that are added while it runs, too.

    Args:
        cluster: The cluster of the topic.
        topic: Its name.
        connection: Told about errors.
    """

    def __init__(self, cluster: Cluster, topic: str, connection: Connection) -> None:
        self._topic, self._connection = topic, connection
        self._admin = made(AdminClient, cluster.config({"error_cb": connection.on_error}))
        self._over = threading.Event()
        self._ends: dict[int, int] = {}
        #: The topic's partitions, as far as known.
        self.partitions: frozenset[int] = frozenset()
        #: Partitions that have become shorter: the topic was deleted and made again.
        self.begun_anew: set[int] = set()
        self._thread = threading.Thread(target=self._run, name=f"kafka-{topic}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread, without waiting for it."""
        self._over.set()

    def _run(self) -> None:
        while not self._over.is_set():
            for look in (self._look_for_partitions, self._look_for_ends):
                self._try(look)
            self._over.wait(_LOOK_S if self.partitions else 0.2)

    def _try(self, look: Callable[[], None]) -> None:
        try:
            look()
        except KafkaException:
            # The callback for errors knows more, and the next look comes soon.
            self._admin.poll(0)

    def _look_for_partitions(self) -> None:
        found = self._admin.list_topics(self._topic, timeout=_ANSWER_S).topics.get(self._topic)
        if found is not None and found.error is None and found.partitions:
            self.partitions = self.partitions | frozenset(found.partitions)
            self._connection.works()

    def _look_for_ends(self) -> None:
        # Of a position beyond the end, most brokers say so themselves, but not once the end has passed it.
        asked = {TopicPartition(self._topic, one): OffsetSpec.latest() for one in self.partitions}
        if not asked:
            return
        for where, answer in self._admin.list_offsets(asked, request_timeout=_ANSWER_S).items():
            end = answer.result().offset
            if end < self._ends.get(where.partition, 0):
                self.begun_anew.add(where.partition)
            self._ends[where.partition] = end
