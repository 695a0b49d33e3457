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
from operators import Caption


def line(caption: Caption, _number: int) -> bytes:
    """The text of a final; nothing of other captions."""
    return f"{caption.text}\n".encode() if caption.is_final else b""


def flow(captions: Path, transcript: Path) -> Dataflow:
    """The flow: captions from a file, lines into another."""
    made = Dataflow("own-sink")
    events = op.input("captions", made, JsonlSource(captions, Caption))
    keyed = op.key_on("key", events, lambda caption: caption.stream)
    op.output("transcript", keyed, FileSink(transcript, line))
    return made


if __name__ == "__main__":
    run_main(flow(*map(Path, sys.argv[1:3])))
