"""Clients of Kafka: how they are configured, and what their errors mean to a user."""

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from connectors.messages import tell
from operators.errors import InputError, OutputError, SurtitleError, UsageError
from operators.secret import Secret

#: Seconds to wait for a broker before the job begins.
CONNECT_S = 10.0

# What this package decides itself: another value could lose messages.
_OURS = frozenset(
    {
        "bootstrap.servers", "metadata.broker.list", "group.id", "enable.auto.commit",
        "enable.auto.offset.store", "auto.offset.reset", "enable.idempotence", "acks",
        "request.required.acks", "message.timeout.ms", "delivery.timeout.ms", "transactional.id", "log_level",
    }
)  # fmt: skip


class Cluster(NamedTuple):
    """A Kafka cluster and the properties of its clients."""

    brokers: tuple[str, ...]
    properties: Mapping[str, Secret] = {}

    @property
    def name(self) -> str:
        """The brokers, for messages."""
        return ", ".join(self.brokers)

    def config(self, ours: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration of a client; ``ours`` are properties that surtitle sets itself.

        Raises:
            UsageError: for a property that surtitle sets itself.
        """
        for name in self.properties:
            if name in _OURS:
                raise UsageError(f"the property {name} of Kafka's client is surtitle's own; leave it out")
        given = {name: value.reveal() for name, value in self.properties.items()}
        # librdkafka would write on standard error by itself.
        base = {"bootstrap.servers": ",".join(self.brokers), "log_level": 0, "client.id": "surtitle"}
        return {**base, **given, **ours}


class Connection:
    """Tells the user when no broker can be reached, and when one can again; thread-safe.

    Args:
        meanwhile: What happens until one can be reached, for the user.
    """

    def __init__(self, cluster: Cluster, meanwhile: str) -> None:
        self._cluster, self._meanwhile = cluster, meanwhile
        self._lock = threading.Lock()
        self._is_lost = False
        #: An error that waiting does not heal.
        self.fatal: KafkaError | None = None

    def on_error(self, error: KafkaError) -> None:
        """The ``error_cb`` of a client."""
        if error.fatal() or error.code() in _LASTING:
            self.fatal = error
        elif error.code() == KafkaError._ALL_BROKERS_DOWN:
            with self._lock:
                is_new, self._is_lost = not self._is_lost, True
            if is_new:
                name = self._cluster.name
                tell("kafka_unreachable", f"no broker of Kafka answers at {name}; {self._meanwhile}")

    def works(self) -> None:
        """Messages came or went."""
        if not self._is_lost:
            return
        with self._lock:
            was_lost, self._is_lost = self._is_lost, False
        if was_lost:
            tell("kafka_reachable", f"Kafka answers again at {self._cluster.name}")


_LASTING = (
    KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.UNSUPPORTED_SASL_MECHANISM,
)  # fmt: skip


def made(make: type[Any], config: dict[str, Any]) -> Any:
    """A client, or the error that its configuration deserves.

    Raises:
        UsageError: for a property that librdkafka does not know, or cannot use.
    """
    try:
        return make(config)
    except KafkaException as error:
        reason = error.args[0].str() if error.args else str(error)
        raise UsageError(f"Kafka's client cannot be made: {reason}; see the properties of client") from None


def check_topics(cluster: Cluster, read: Iterable[str], written: Iterable[str]) -> None:
    """Check that the brokers answer and have these topics.

    A broker that creates topics by itself does so here.

    Raises:
        InputError: when a topic that is read is missing, or no broker answers.
        OutputError: when one that is written is missing.
    """
    read, written = list(read), list(written)
    # Of a wrong password, librdkafka only tells its callback, and goes on trying.
    connection = Connection(cluster, "trying again")
    admin = made(AdminClient, cluster.config({"error_cb": connection.on_error}))
    admin.poll(0)
    for topics, kind in ((read, InputError), (written, OutputError)):
        for topic in topics:
            _check_topic(admin, cluster, connection, topic, kind)


def _check_topic(
    admin: AdminClient, cluster: Cluster, connection: Connection, topic: str, kind: type[SurtitleError]
) -> None:
    try:
        found = admin.list_topics(topic, timeout=CONNECT_S).topics[topic]
    except KafkaException as error:
        admin.poll(0)
        reason = (connection.fatal or error.args[0]).str()
        raise kind(
            f"Kafka cannot be reached at {cluster.name}: {reason}; check that it runs, the addresses and the "
            "client's properties"
        ) from None
    if found.error is not None or not found.partitions:
        reason = found.error.str() if found.error else "it has no partitions"
        raise kind(f"the topic {topic} at {cluster.name} cannot be used: {reason}; create it first")


#: Seconds between two checks.
_LOOK_S = 3.0
# Maximum seconds to wait for an answer.
_ANSWER_S = 10.0


class TopicWatch:
    """Knows the partitions of a topic; a job reads those that are added while it runs, too.

    Args:
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
