"""Writes events to files of JSON lines."""

from pathlib import Path

import msgspec

from connectors.files.sink import FileSink
from connectors.files.watch import OutputWatch
from connectors.sinks.part import SinkPart, Step
from operators.events import Event

_encode = msgspec.json.Encoder().encode


def json_line(event: Event, _number: int) -> bytes:
    """The line of an event."""
    return _encode(event) + b"\n"


class JsonlSink(FileSink[Event]):
    """Writes each event as a line.

    Delivery: exactly once with recovery into a regular file, as of `FileSink`.

    Example:
        >>> from bytewax import operators as op
        >>> from bytewax.dataflow import Dataflow
        >>> from bytewax.testing import run_main
        >>> from pathlib import Path
        >>> from connectors import JsonlSink, JsonlSource
        >>> from operators import Caption
        >>> flow = Dataflow("example")
        >>> captions = op.input("in", flow, JsonlSource(Path("captions.jsonl"), Caption))
        >>> keyed = op.key_on("key", captions, lambda caption: caption.stream)
        >>> op.output("out", keyed, JsonlSink(Path("copy.jsonl")))
        >>> run_main(flow)
        >>> Path("copy.jsonl").read_text().startswith('{"event":"caption","stream":"talk"')
        True
    """

    def __init__(self, path: Path, *, watch: OutputWatch | None = None) -> None:
        super().__init__(path, json_line, watch=watch)


def _part(name: str, of: Step, text: str, *flags: str) -> SinkPart:
    return SinkPart(name, JsonlSink, of, f"Write {text} (JSONL).", flags)


log = _part("log", "records", "the erasure log here")
partials = _part("partials", "partials", "what the recogniser said", "--save-partials")
sentences = _part(
    "sentences", "sentences", "the sentences as they were translated, without those that newer ones overtook",
    "--save-sentences",
)  # fmt: skip
translations = _part("translations", "translations", "the translations", "--save-translations")
captions = _part("captions", "captions", "the captions", "--captions", "--save-captions")
