"""Both ends of a job, as a measurement has them."""

import time
from contextlib import closing

import msgspec
import pytest

from connectors.kafka.client import Cluster
from connectors.kafka.exchange import Exchange, Topic
from operators.errors import InputError
from operators.events import Caption, Partial
from tests.broker import Broker
from tests.killing import free_addresses


def partial(segment: int) -> Partial:
    return Partial(
        stream="talk", segment=segment, revision=0, is_final=True, text="a", start_s=0.0, end_s=1.0,
        arrival_s=1.0,
    )  # fmt: skip


def caption(segment: int) -> Caption:
    return Caption(
        stream="talk", segment=segment, revision=0, is_final=True, source="a", shown="b", withheld="",
        start_s=0.0, end_s=1.0, arrival_s=1.0, ready_s=2.0,
    )  # fmt: skip


def test_what_comes_from_now_on_is_read_and_what_is_no_caption_is_not_ours(broker: Broker) -> None:
    to, back = broker.topic("to", 1), broker.topic("back", 2)
    cluster = Cluster((broker.address,))
    broker.send(back, [(b"talk", msgspec.json.encode(caption(0)))])
    with closing(Exchange(Topic(cluster, to), Topic(cluster, back), Caption)) as exchange:
        exchange.send(partial(7))
        broker.send(
            back,
            [
                (b"talk", b"nonsense"),
                (None, None),
                (b"talk", msgspec.json.encode(partial(1))),
                (b"talk", msgspec.json.encode(caption(1))),
            ],
        )
        heard: list[Caption] = []
        deadline = time.monotonic() + 30
        while not heard and time.monotonic() < deadline:
            heard += exchange.received(0.2)
        assert heard == [caption(1)]
    [sent] = broker.messages(to)
    assert (sent.key, msgspec.json.decode(sent.value, type=Partial)) == (b"talk", partial(7))


def test_a_topic_that_cannot_be_read_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connectors.kafka.exchange.CONNECT_S", 0.5)
    nowhere = Cluster(tuple(free_addresses(1)))
    with pytest.raises(InputError, match=f"the topic back at {nowhere.name} cannot be read: "):
        Exchange(Topic(nowhere, "to"), Topic(nowhere, "back"), Caption)
