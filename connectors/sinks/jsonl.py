"""Writes events to files of JSON lines."""

from pathlib import Path

import msgspec

from connectors.files.sink import FileSink
from connectors.files.watch import OutputWatch
from connectors.sinks.part import SinkPart
from operators.events import Event

_encode = msgspec.json.Encoder().encode


def json_line(event: Event, _number: int) -> bytes:
    return _encode(event) + b"\n"


class JsonlSink(FileSink[Event]):
    """Writes each event as a line.

    Delivery: exactly once with recovery into a regular file, as for `FileSink`.

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


log = SinkPart("log", JsonlSink, "records")
partials = SinkPart("partials", JsonlSink, "partials")
sentences = SinkPart("sentences", JsonlSink, "sentences")
translations = SinkPart("translations", JsonlSink, "translations")
captions = SinkPart("captions", JsonlSink, "captions")
