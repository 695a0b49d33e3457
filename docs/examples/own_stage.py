"""A stage of your own: it corrects names that the recogniser mishears, before they are translated.

python docs/examples/own_stage.py partials.jsonl
"""

import re
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
from bytewax import operators as op
from bytewax.dataflow import Dataflow, Stream
from bytewax.testing import run_main

from connectors import CallbackSink, JsonlSource
from operators import Partial

#: What is heard, in small letters, and what was said.
NAMES = {"sir title": "surtitle", "the museum": "the Bode Museum"}


def correct(step_id: str, up: Stream[Partial], names: Mapping[str, str]) -> Stream[Partial]:
    """Replace each key of ``names``, as whole words in any case, by its value."""
    heard = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in names), re.IGNORECASE)

    def corrected(partial: Partial) -> Partial:
        text = heard.sub(lambda match: names[match[0].lower()], partial.text)
        return msgspec.structs.replace(partial, text=text)

    return op.map(step_id, up, corrected)


def tell(partial: Partial) -> None:
    """Print a hypothesis."""
    print(f"{partial.end_s:6.1f} s {'=' if partial.is_final else '~'} {partial.text}")


def flow(path: Path) -> Dataflow:
    """The flow: partials, corrected partials; `operators.translate` takes either."""
    made = Dataflow("own-stage")
    partials = op.input("partials", made, JsonlSource(path, Partial))
    op.output("tell", correct("correct", partials, NAMES), CallbackSink(tell))
    return made


if __name__ == "__main__":
    run_main(flow(Path(sys.argv[1])))
