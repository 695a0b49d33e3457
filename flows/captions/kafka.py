"""Kafka in the captions flow: events from a topic, without repeats and dead letters, and events to topics."""

import threading
from typing import TYPE_CHECKING, Any

from bytewax import operators as op
from bytewax.dataflow import Stream

from connectors.messages import tell
from flows.captions.parts import Parts
from flows.settings.schema import Settings
from operators.clock import LagClock
from operators.errors import UsageError
from operators.extras import needs_extra
from operators.notifications import MessageSkipped
from operators.stages.deduplicate import deduplicate

if TYPE_CHECKING:
    from connectors.kafka.client import Cluster
    from connectors.kafka.sink import KafkaEventSink


def read(messages: Stream[Any], parts: Parts) -> Stream[Any]:
    """The events of a topic, each once; messages that cannot be used go to the topic of dead letters."""
    from connectors.kafka.messages import DeadLetter

    given = parts.settings.input.kafka
    parted = op.branch("usable", messages, lambda one: not isinstance(one, DeadLetter))
    if given.dead_letters:
        letters = op.map("dead-letter", parted.falses, lambda letter: letter.message())
        sink = _sink(input_cluster(parts.settings), given.dead_letters, parts.shared.stop, cuts=True)
        op.output("dead-letters", letters, sink)
    return once(parted.trues, parts)


def once(events: Stream[Any], parts: Parts) -> Stream[Any]:
    """The events without repeats, each stream on the worker that translates it."""
    observe, clock = parts.observers.observe, parts.given.clock
    return deduplicate(
        "deduplicate",
        events,
        lambda _event: observe(MessageSkipped("repeated")),
        lambda sentence: tell("session_began", sentence),
        clock if isinstance(clock, LagClock) else None,
    )


def publish(events: Stream[Any], name: str, topic: str | None, parts: Parts) -> None:
    """Write events to a topic, if one is given."""
    if topic is None:
        return
    with needs_extra("kafka", "output to Kafka"):
        from connectors.kafka.messages import message_of
    sink = _sink(output_cluster(parts.settings), topic, parts.shared.stop)
    op.output(f"publish-{name}", op.map(f"message-{name}", events, message_of), sink)


def check_topics(settings: Settings) -> None:
    """Check that all topics can be used, before a model is loaded.

    Raises:
        UsageError: when a topic is given twice.
        InputError: when the one that is read cannot be.
        OutputError: when one that is written cannot be.
    """
    given, wanted = settings.input.kafka, settings.output.kafka
    topics = {
        "input.kafka.topic": (given.brokers, given.topic),
        "input.kafka.dead_letters": (given.brokers, given.dead_letters if given.topic else None),
    }
    brokers = wanted.brokers or given.brokers
    for name in ("partials", "sentences", "translations", "captions"):
        topics[f"output.kafka.{name}"] = (brokers, getattr(wanted, name))
    used = {name: where for name, where in topics.items() if where[1]}
    if not used:
        return
    names: dict[object, str] = {}
    for name, where in used.items():
        other = names.setdefault(where, name)
        if other != name:
            raise UsageError(f"{other} and {name} are both {where[1]}; give each a topic of its own")
    _check_topics(settings, {name: str(topic) for name, (_, topic) in used.items()})


def _check_topics(settings: Settings, used: dict[str, str]) -> None:
    with needs_extra("kafka", "Kafka"):
        from connectors.kafka import client
    read = [topic for name, topic in used.items() if name == "input.kafka.topic"]
    letters = [topic for name, topic in used.items() if name == "input.kafka.dead_letters"]
    written = [topic for name, topic in used.items() if name.startswith("output.")]
    if read:
        client.check_topics(input_cluster(settings), read, letters)
    if written:
        client.check_topics(output_cluster(settings), [], written)


def input_cluster(settings: Settings) -> "Cluster":
    """The brokers of the topic that is read."""
    from connectors.kafka.client import Cluster

    return Cluster(settings.input.kafka.brokers, settings.input.kafka.client)


def output_cluster(settings: Settings) -> "Cluster":
    """The brokers of the topics that are written."""
    from connectors.kafka.client import Cluster

    wanted = settings.output.kafka
    if wanted.brokers is None:
        return Cluster(settings.input.kafka.brokers, {**settings.input.kafka.client, **wanted.client})
    return Cluster(wanted.brokers, wanted.client)


def _sink(cluster: "Cluster", topic: str, stop: threading.Event, *, cuts: bool = False) -> "KafkaEventSink":
    from connectors.kafka.sink import KafkaEventSink

    return KafkaEventSink(cluster, topic, stop, cuts=cuts)
