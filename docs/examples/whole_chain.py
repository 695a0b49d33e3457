"""The whole chain in one flow: a recording in, captions on the terminal and an erasure log out.

python docs/examples/whole_chain.py talk.wav log.jsonl
"""

import sys
from functools import cache
from pathlib import Path

from bytewax import operators as op
from bytewax.dataflow import Dataflow
from bytewax.testing import run_main

from connectors import AudioFileSource, JsonlSink, open_screen
from flows import TranslateSettings, open_engine
from operators import (
    DirectService,
    ErasureMeter,
    Sentences,
    VirtualClock,
    display,
    join_sentences,
    measure,
    moonshine_recognizer,
    recognize,
    show,
    translate,
)  # fmt: skip

SETTINGS = TranslateSettings(source="English", to="Portuguese")


@cache
def service() -> DirectService:
    """What translates in this process; its model is loaded when the first stream begins."""
    translator = open_engine(SETTINGS).translator(SETTINGS)
    return DirectService(lambda _update: translator)


def flow(audio: Path, log: Path) -> Dataflow:
    """The chain. Each step has a name, because snapshots go by these names."""
    made, clock = Dataflow("whole-chain"), VirtualClock()
    chunks = op.input("audio", made, AudioFileSource(audio, stream="talk"))
    partials = recognize("recognize", chunks, lambda _stream: moonshine_recognizer())
    spoken = join_sentences("sentences", partials, Sentences)
    translations = translate("translate", spoken, service, clock)
    captions = display("display", translations, mask_k=3)
    seen = show("show", captions, open_screen().draw, clock)
    records = measure("measure", seen, lambda _stream, state: ErasureMeter("13a", state))
    op.output("log", op.key_on("key", records, lambda record: record.stream), JsonlSink(log))
    return made


if __name__ == "__main__":
    run_main(flow(Path(sys.argv[1]), Path(sys.argv[2])))
