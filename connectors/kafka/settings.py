"""Settings of Kafka as input and output; importing them does not import its client."""

from typing import Annotated, Literal

import msgspec

from connectors.files.contents import MAX_LINE_BYTES
from operators.secret import Secret

#: Name of a topic, as Kafka allows it.
Topic = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[A-Za-z0-9._-]{1,249}$",
        description="names of at most 249 letters, digits, points, hyphens and underscores",
    ),
]
#: ``HOST:PORT`` of a broker.
Broker = Annotated[
    str, msgspec.Meta(pattern=r"^[^\s,/]+:[0-9]{1,5}$", description="addresses such as localhost:9092")
]
Brokers = Annotated[tuple[Broker, ...], msgspec.Meta(min_length=1, max_length=100)]


class KafkaInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A topic that events are read from."""

    #: Some brokers of the cluster; the client finds the others.
    brokers: Brokers = ("localhost:9092",)
    #: The topic; absent to read none.
    topic: Topic | None = None
    #: The type of its events.
    events: Literal["partials", "translations", "captions"] = "partials"
    #: Where to begin without a stored position: at the oldest message, or with those that come from now on.
    start: Literal["beginning", "end"] = "beginning"
    #: Topic for messages that cannot be used, with the reason; without it, the first one ends the job.
    dead_letters: Topic | None = None
    #: Maximum size of a message's value; larger ones are dead letters.
    max_message_bytes: Annotated[int, msgspec.Meta(ge=1024, le=MAX_LINE_BYTES)] = 2**20
    #: Consumer group that positions are reported to, for tools that show lag; a job resumes from its recovery
    #: folder, never from there.
    group: Annotated[str, msgspec.Meta(min_length=1, max_length=255)] | None = None
    #: More properties of librdkafka, such as ``"security.protocol"``; their values are not shown.
    client: dict[str, Secret] = {}


class KafkaOutput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The topics that events are written to; absent ones are not written."""

    #: Some brokers of the cluster; absent for those of the input, with its client's properties.
    brokers: Brokers | None = None
    #: Topic for what the recogniser said.
    partials: Topic | None = None
    #: Topic for what was translated: partials of sentences.
    sentences: Topic | None = None
    #: Topic for the translations.
    translations: Topic | None = None
    #: Topic for the captions.
    captions: Topic | None = None
    #: More properties of librdkafka for these brokers; their values are not shown.
    client: dict[str, Secret] = {}
