"""Kafka in the captions flow: deduplicated events from a topic, dead letters, and events to topics."""

from threading import Event as Flag
from typing import Any

from bytewax import operators as op
from bytewax.dataflow import Stream

from connectors.jsonl.files import LineDecoder
from connectors.messages import log_event
from flows.captions.inputs import kafka_cluster
from flows.captions.parts import Parts
from flows.settings.schema import Settings
from operators.clock import LagClock
from operators.errors import InputError, OutputError, UsageError
from operators.events import happened_s
from operators.extras import needs_extra
from operators.notifications import MessageSkipped
from operators.stages.deduplicate import deduplicate


def read(messages: Stream[Any], parts: Parts) -> Stream[Any]:
    """The events of a topic, each once; invalid messages go to the dead-letter topic."""
    from connectors.kafka import DeadLetter, KafkaEventSink, event_of

    topic, decoder = parts.settings.input.kafka.dead_letters, LineDecoder(parts.given.event_type)
    is_logged = Flag()

    def decoded(message: Any) -> Any:
        event = event_of(decoder, message)
        if isinstance(event, DeadLetter):
            if topic is None:
                raise InputError(
                    f"{event.place}: {event.reason}; name a topic for such messages in "
                    "input.kafka.dead_letters"
                )
            parts.observers.observe(MessageSkipped("unusable"))
            if not is_logged.is_set():
                is_logged.set()
                log_event(
                    "kafka_dead_letter", f"{event.place} cannot be used and goes to {topic}: {event.reason}"
                )
        return event

    events: Stream[Any] = op.map("decode", messages, decoded)
    split = op.branch("usable", events, lambda one: not isinstance(one, DeadLetter))
    if topic is not None:
        letters = op.map("dead-letter", split.falses, lambda letter: letter.sent())
        op.output("dead-letters", letters, KafkaEventSink(kafka_cluster(parts.settings), topic))
    return once(split.trues, parts)


def once(events: Stream[Any], parts: Parts) -> Stream[Any]:
    """Deduplicate events, each stream on the worker that translates it."""
    observe, clock = parts.observers.observe, parts.given.clock
    new: Stream[Any] = deduplicate("deduplicate", events, lambda _event: observe(MessageSkipped("repeated")))
    if not isinstance(clock, LagClock):
        return new

    def heard(event: Any) -> Any:
        clock.heard(event.stream, happened_s(event))
        return event

    return op.map("heard", new, heard)


def publish(events: Stream[Any], name: str, parts: Parts) -> None:
    topic = parts.settings.output.kafka.get(name)
    if topic is None:
        return
    with needs_extra("kafka", "output to Kafka"):
        from connectors.kafka import KafkaEventSink, message_of
    messages = op.map(f"message-{name}", events, message_of)
    op.output(f"publish-{name}", messages, KafkaEventSink(kafka_cluster(parts.settings), topic))


def check_topics(settings: Settings) -> None:
    """Check that all topics can be used, before a model is loaded.

    Raises:
        UsageError: when a topic is given twice.
        InputError: when the input topic cannot be read.
        OutputError: when an output topic cannot be written.
    """
    given, written = settings.input.kafka, settings.output.kafka
    topics: dict[str, str | None] = {f"output.kafka.{name}": topic for name, topic in written.items()}
    topics["input.kafka.topic"] = given.topic
    topics["input.kafka.dead_letters"] = given.dead_letters if given.topic else None
    names: dict[str, str] = {}
    for name, topic in sorted(topics.items()):
        if topic is not None and (other := names.setdefault(topic, name)) != name:
            raise UsageError(f"{other} and {name} are both {topic}; give each a topic of its own")
    if not names:
        return
    with needs_extra("kafka", "Kafka"):
        from connectors.kafka import partitions_of
    for topic in sorted(names, key=lambda one: one != given.topic):
        partitions_of(kafka_cluster(settings), topic, InputError if topic == given.topic else OutputError)
