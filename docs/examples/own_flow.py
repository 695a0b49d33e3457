"""A flow of your own: recorded partials in, German captions on standard output.

python docs/examples/own_flow.py partials.jsonl
"""

import sys
from functools import cache
from pathlib import Path

from bytewax import operators as op
from bytewax.dataflow import Dataflow
from bytewax.testing import run_main

from connectors import CallbackSink, JsonlSource
from flows import TranslateSettings, open_engine
from operators import Caption, Partial, VirtualClock, display, translate
from operators.serving.service import DirectService

SETTINGS = TranslateSettings(source="English", to="German")


@cache
def service() -> DirectService:
    """What translates in this process; its model is loaded when the first stream begins."""
    translator = open_engine(SETTINGS).translator(SETTINGS)
    return DirectService(lambda _stream: translator)


def tell(caption: Caption) -> None:
    """Print what a viewer would see, and whether it is there to stay."""
    print(f"{caption.end_s:6.1f} s {'=' if caption.is_final else '~'} {caption.shown}")


def flow(path: Path) -> Dataflow:
    """The flow: each step is named, because snapshots go by these names."""
    made = Dataflow("own-flow")
    partials = op.input("partials", made, JsonlSource(path, Partial))
    translations = translate("translate", partials, service, VirtualClock())
    captions = display("display", translations, mask_k=3)
    op.output("tell", captions, CallbackSink(tell))
    return made


if __name__ == "__main__":
    run_main(flow(Path(sys.argv[1])))
