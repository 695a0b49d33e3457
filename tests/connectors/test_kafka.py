"""The source and the sink of a topic: positions, errors, and what ends a job."""

from collections.abc import Iterator
from threading import Event as Flag
from typing import Any

import msgspec
import pytest
from confluent_kafka import KafkaError

from connectors import kafka
from connectors.kafka import Cluster, KafkaEventSink, KafkaEventSource, message_of, partitions_of
from operators.errors import ClusterError, InputError, OutputError, UsageError
from tests.broker import Broker, a_broker
from tests.connectors.jsonl.partials import partial
from tests.waiting import until

NOWHERE = Cluster(("127.0.0.1:1",))


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with a_broker() as one:
        yield one


def send(broker: Broker, topic: str, *numbers: int) -> None:
    broker.send(topic, [(b"talk", msgspec.json.encode(partial(number))) for number in numbers])


def source(broker: Broker, topic: str, **properties: str) -> KafkaEventSource:
    return KafkaEventSource(Cluster((broker.address,), properties), topic, Flag())


def part_of(one: KafkaEventSource, position: int | None = None) -> Any:
    (name,) = one.list_parts()
    return one.build_part("in", name, position)


def read(part: Any, count: int) -> list[int]:
    """The segments of the next events."""
    found: list[int] = []

    def is_read() -> bool:
        found.extend(msgspec.json.decode(message.value)["segment"] for message in part.next_batch())
        return len(found) >= count

    until(is_read)
    return found


def test_it_can_begin_with_what_comes_from_now_on(broker: Broker) -> None:
    topic = broker.topic("in", 1)
    send(broker, topic, 0, 1)
    one = source(broker, topic, **{"auto.offset.reset": "latest"})
    part = part_of(one)
    # A job that is killed before the first message does not miss those that come meanwhile.
    position = part.snapshot()
    part.close()
    send(broker, topic, 2)
    resumed = part_of(one, position)
    assert read(resumed, 1) == [2]
    resumed.close()


def test_less_is_read_between_two_snapshots_than_there_is(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka, "_MAX_AHEAD", 2)
    topic = broker.topic("in", 1)
    part = part_of(source(broker, topic))
    send(broker, topic, 0, 1)
    assert read(part, 2) == [0, 1]
    send(broker, topic, 2)
    assert [part.next_batch() for _ in range(300)] == [[]] * 300
    part.snapshot()
    assert read(part, 1) == [2]
    part.close()


def test_an_error_that_waiting_does_not_heal_ends_the_job(broker: Broker) -> None:
    part = part_of(source(broker, broker.topic("in", 1)))
    # This broker does not say it itself.
    with pytest.raises(ClusterError, match="has changed: start the job again"):
        part._check(KafkaError(KafkaError._AUTO_OFFSET_RESET))
    part.close()
    with pytest.raises(InputError, match=r"Kafka at 127\.0\.0\.1:1 cannot be used"):
        NOWHERE.check(InputError, KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))


def test_what_cannot_be_used_is_named_before_the_job(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    here = Cluster((broker.address,))
    assert partitions_of(here, broker.topic("in", 2), InputError) == [0, 1]
    # This broker would make others.
    with pytest.raises(InputError, match=r"the topic no such at .* cannot be used: .*; create it first"):
        partitions_of(here, "no such", InputError)
    with pytest.raises(UsageError, match="No such configuration property"):
        partitions_of(Cluster(here.brokers, {"no.such.property": "true"}), "in", InputError)
    monkeypatch.setattr(kafka, "ANSWER_S", 0.5)
    with pytest.raises(OutputError, match=r"Kafka cannot be reached at 127\.0\.0\.1:1: .*; check"):
        partitions_of(NOWHERE, "out", OutputError)


def test_a_message_that_cannot_be_written_ends_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "_SEND_S", 0.5)
    part = KafkaEventSink(NOWHERE, "out").build("out", 0, 1)
    with pytest.raises(OutputError, match=r"the topic out at 127\.0\.0\.1:1 cannot be written: .*timed out"):
        part.write_batch([message_of(partial())])
