"""The sink of a topic: what it has taken is stored, or the run ends with a sentence."""

import logging
import threading
import time
from threading import Event as Flag
from typing import Any

import pytest

from connectors.kafka import client
from connectors.kafka.client import Cluster, Connection, check_topics
from connectors.kafka.messages import DeadLetter, message_of
from connectors.kafka.sink import KafkaEventSink
from operators.errors import InputError, OutputError
from tests.broker import IS_FOREIGN, Broker, OwnBroker, a_broker
from tests.flows.talk import captions

NOWHERE = Cluster(("127.0.0.1:1",))


def sink(broker: Broker, topic: str, stop: Flag | None = None, **options: Any) -> Any:
    made = KafkaEventSink(Cluster((broker.address,)), topic, stop or Flag(), **options)
    return made.build("out", 0, 1)


def test_of_a_dead_letter_that_the_broker_finds_too_large_the_beginning_is_kept(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The client refuses it in the broker's place.
    monkeypatch.setattr("connectors.kafka.sink._MAX_BYTES", 200_000)
    topic = broker.topic("letters", 1)
    letter = DeadLetter("too large", "in", 3, 7, b"talk", b"x" * 300_000)
    part = sink(broker, topic, cuts=True)
    part.write_batch([letter.message()])
    (kept,) = broker.messages(topic)
    assert kept.value == b"x" * 65_536
    assert kept.headers["size"] == "300000"
    assert kept.headers["cut"]
    assert (kept.headers["topic"], kept.headers["partition"], kept.headers["offset"]) == ("in", "3", "7")
    part.close()


def test_a_caption_that_the_broker_refuses_ends_the_run(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("connectors.kafka.sink._MAX_BYTES", 1_000)
    part = sink(broker, broker.topic("out", 1))
    letter = DeadLetter("", "in", 0, 0, b"talk", b"x" * 2_000)
    with pytest.raises(OutputError, match="cannot be written"):
        part.write_batch([letter.message()])
    part.close()


@pytest.mark.skipif(IS_FOREIGN, reason="the broker is not the test's own to kill")
def test_it_waits_for_a_broker_and_gives_up_only_when_the_run_is_to_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("connectors.kafka.sink._LAST_S", 0.5)
    with a_broker() as broker:
        assert isinstance(broker, OwnBroker)
        topic, stop = broker.topic("out", 1), Flag()
        part = sink(broker, topic, stop)
        event = message_of(captions()[0])
        part.write_batch([event])
        broker.kill()
        writing = threading.Thread(target=part.write_batch, args=([event],))
        writing.start()
        time.sleep(1)
        assert writing.is_alive()
        broker.start()
        broker.make(topic, 1)
        writing.join(30)
        assert not writing.is_alive()
        assert [one.value for one in broker.messages(topic)] == [event.value]
        broker.kill()
        stop.set()
        with pytest.raises(OutputError, match="no broker answers, and 1 messages are left"):
            part.write_batch([event])
        part.close()


def test_brokers_that_do_not_answer_are_named_before_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "CONNECT_S", 0.5)
    with pytest.raises(
        InputError, match=r"Kafka cannot be reached at 127\.0\.0\.1:1: .*; check that it runs"
    ):
        check_topics(NOWHERE, ["in"], [])
    with pytest.raises(OutputError, match="Kafka cannot be reached"):
        check_topics(NOWHERE, [], ["out"])


def test_a_lost_connection_is_told_once_and_so_is_its_return(caplog: pytest.LogCaptureFixture) -> None:
    from confluent_kafka import KafkaError

    caplog.set_level(logging.INFO)
    connection = Connection(NOWHERE, "captions wait")
    connection.works()
    for _ in range(3):
        connection.on_error(KafkaError(KafkaError._ALL_BROKERS_DOWN))
    connection.works()
    connection.works()
    assert caplog.messages == [
        "no broker of Kafka answers at 127.0.0.1:1; captions wait",
        "Kafka answers again at 127.0.0.1:1",
    ]
