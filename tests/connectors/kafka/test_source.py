"""The source of a topic: where it begins, what it remembers, added partitions."""

import time
from threading import Event as Flag
from typing import Any

import msgspec
import pytest

from connectors.kafka.settings import KafkaInput
from connectors.kafka.source import Budget, KafkaEventSource
from operators.errors import InputError, UsageError
from operators.events import Partial
from operators.secret import Secret
from tests.broker import Broker
from tests.connectors.jsonl.partials import partial


class Watch:
    """A topic whose partitions the test names."""

    def __init__(self, *partitions: int) -> None:
        self.partitions = frozenset(partitions)
        self.begun_anew: set[int] = set()


def send(broker: Broker, topic: str, *numbers: int) -> None:
    broker.send(topic, [(b"talk", msgspec.json.encode(partial(number))) for number in numbers])


def source(broker: Broker, topic: str, **given: Any) -> KafkaEventSource[Partial]:
    settings = KafkaInput(brokers=(broker.address,), topic=topic, **given)
    return KafkaEventSource(settings, Partial, stop=Flag())


def read(part: Any, count: int) -> list[int]:
    """The segments of the next events."""
    found: list[int] = []
    deadline = time.monotonic() + 20
    while len(found) < count and time.monotonic() < deadline:
        found += [event.segment for event in part.next_batch() if isinstance(event, Partial)]
    return found


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    one = Watch(0)
    monkeypatch.setattr(KafkaEventSource, "watch", lambda _source: one)
    return one


@pytest.mark.usefixtures("watch")
def test_it_continues_where_the_snapshot_was_made(broker: Broker) -> None:
    topic = broker.topic("in", 1)
    send(broker, topic, 0, 1, 2)
    one = source(broker, topic, group="surtitle-tests")
    killed = one.build_part("in", "0", None)
    assert read(killed, 3) == [0, 1, 2]
    position = killed.snapshot()
    send(broker, topic, 3)
    assert read(killed, 1) == [3]
    killed.close()
    resumed = one.build_part(
        "in", "0", msgspec.json.decode(msgspec.json.encode(position), type=type(position))
    )
    assert read(resumed, 1) == [3]
    resumed.close()


def test_a_partition_that_is_added_is_read_from_its_beginning(broker: Broker, watch: Watch) -> None:
    topic = broker.topic("in", 9)
    keys = {number: _key_of_partition(broker, topic, number) for number in (0, 8)}
    one = source(broker, topic, start="end", dead_letters="letters")
    part = one.build_part("in", "0", None)
    assert part.next_batch() == []
    for number, key in keys.items():
        event = msgspec.structs.replace(partial(number), stream=key.decode())
        broker.send(topic, [(key, msgspec.json.encode(event))])
    assert read(part, 1) == [0]
    # The eighth partition belongs to the same part of the source; its old messages are new to the job.
    watch.partitions |= {8}
    assert read(part, 1)[-1] == 8
    assert set(part.snapshot().offsets) == {0, 8}
    part.close()


def _key_of_partition(broker: Broker, topic: str, number: int) -> bytes:
    """A key whose messages go there."""
    for attempt in range(200):
        key = f"talk{attempt}".encode()
        if broker.partition_of(topic, key) == number:
            return key
    raise AssertionError("no key goes there")


def test_it_can_begin_with_what_comes_from_now_on(broker: Broker, watch: Watch) -> None:
    topic = broker.topic("in", 1)
    send(broker, topic, 0, 1)
    part = source(broker, topic, start="end").build_part("in", "0", None)
    assert part.next_batch() == []
    # A job that was killed before the first message does not miss those that came meanwhile.
    position = part.snapshot()
    part.close()
    send(broker, topic, 2)
    assert position.offsets == {0: 2}
    resumed = source(broker, topic, start="end").build_part("in", "0", position)
    assert read(resumed, 1) == [2]
    resumed.close()
    assert watch.partitions == {0}


@pytest.mark.usefixtures("watch")
def test_it_ends_when_the_run_is_to_end(broker: Broker) -> None:
    one = source(broker, broker.topic("in", 1))
    part = one.build_part("in", "0", None)
    assert part.next_batch() == []
    one.stop.set()
    with pytest.raises(StopIteration):
        part.next_batch()
    part.close()


@pytest.mark.usefixtures("watch")
def test_a_property_that_could_lose_messages_is_refused(broker: Broker) -> None:
    for name, sentence in (
        ("enable.auto.commit", "is surtitle's own"),
        ("no.such.property", "No such configuration property"),
    ):
        one = source(broker, "in", client={name: Secret("true")})
        part = one.build_part("in", "0", None)
        with pytest.raises(UsageError, match=sentence):
            part.next_batch()


@pytest.mark.usefixtures("watch")
def test_an_error_that_waiting_does_not_heal_ends_the_job(broker: Broker) -> None:
    from confluent_kafka import KafkaError

    one = source(broker, "in")
    part = one.build_part("in", "0", None)
    one.connection.on_error(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    with pytest.raises(InputError, match="the topic in cannot be read"):
        part.next_batch()


def test_less_is_read_at_a_time_while_the_stages_are_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    budget = Budget(interval_s=1.0)
    first = budget.left

    def snapshot(after_s: float, read: int) -> int:
        budget.left -= read
        now[0] += after_s
        budget.next()
        return budget.left

    assert snapshot(1.0, first) == 2 * first
    assert snapshot(1.0, 5) == 2 * first
    for _ in range(20):
        least = snapshot(10.0, 1)
    assert least == 16
    for _ in range(20):
        most = snapshot(1.0, budget.left)
    assert most == 16_384
