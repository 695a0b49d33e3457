"""Writes events to files of JSON lines."""

import msgspec
from typing_extensions import override

from connectors.files.backlog import FileSink
from connectors.files.records import LinesFile, RecordFile
from connectors.sinks.part import SinkPart, Step
from operators.events import Event


class JsonlSink(FileSink[Event, int]):
    """Writes each event as a line; takes pairs of a key, which is ignored, and an event.

    Each batch is written to the file immediately, as whole lines.

    Delivery: exactly once with recovery into a regular file, which a resumed run truncates to its size at the
    snapshot; best effort into a pipe or a device.

    Args:
        path: The file; its contents are replaced.
        watch: Notified while the file cannot be written, and the flow continues; without it the flow ends.

    Raises:
        OutputError: when the file cannot be written: at once, if that can be known, or while the flow runs.

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

    @override
    def open_file(self, position: int | None, file: int | None) -> RecordFile[Event, int]:
        encoder = msgspec.json.Encoder()
        return LinesFile(self.path, position or 0, file, lambda event: encoder.encode(event) + b"\n")


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
