"""A sink of your own: a transcript of the translation, a line for each finished segment.

    python docs/examples/own_sink.py captions.jsonl transcript.txt

It has what every file of surtitle has: one writer, whole lines, exactly once with recovery.
"""

import sys
from pathlib import Path

from bytewax import operators as op
from bytewax.dataflow import Dataflow
from bytewax.testing import run_main

from connectors import FileSink, JsonlSource
from connectors.files.records import LinesFile
from operators import Caption


class TranscriptSink(FileSink[Caption, int]):
    """Writes the text of each final.

    Delivery: exactly once with recovery into a regular file; best effort into a pipe or a device.
    """

    def open_file(self, position: int | None, file: int | None) -> LinesFile[Caption]:
        """The file, from the byte on at which an earlier run's snapshot was taken."""
        return LinesFile(self.path, position or 0, file, _line)


def _line(caption: Caption) -> bytes:
    return f"{caption.text}\n".encode() if caption.is_final else b""


def flow(captions: Path, transcript: Path) -> Dataflow:
    """The flow: captions from a file, lines into another."""
    made = Dataflow("own-sink")
    events = op.input("captions", made, JsonlSource(captions, Caption))
    keyed = op.key_on("key", events, lambda caption: caption.stream)
    op.output("transcript", keyed, TranscriptSink(transcript))
    return made


if __name__ == "__main__":
    run_main(flow(*map(Path, sys.argv[1:3])))
