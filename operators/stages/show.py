"""The show stage: displays each caption, and records when it was displayed."""

from collections.abc import Callable, Sequence
from time import perf_counter

import msgspec
from bytewax import operators as op
from bytewax.dataflow import Stream, operator

from operators.clock import Clock
from operators.events import Caption


@operator
def show(
    step_id: str, up: Stream[Caption], draw: Callable[[Sequence[Caption]], None], clock: Clock
) -> Stream[Caption]:
    """Pass captions to a screen, and record when each one was shown.

    This is a stage and not a sink, because the logged latency includes it.

    Delivery: at least once; after a resume, captions since the last snapshot are drawn again.

    Args:
        up: Captions of any number of streams.

    Example:
        >>> from bytewax import operators as op
        >>> from bytewax.dataflow import Dataflow
        >>> from bytewax.testing import TestingSink, run_main
        >>> from pathlib import Path
        >>> from connectors import JsonlSource
        >>> from operators import Caption, VirtualClock, show
        >>> flow, drawn = Dataflow("example"), []
        >>> captions = op.input("in", flow, JsonlSource(Path("captions.jsonl"), Caption))
        >>> op.output("out", show("show", captions, drawn.extend, VirtualClock()), TestingSink([]))
        >>> run_main(flow)
        >>> isinstance(drawn[0], Caption)
        True
    """

    def shown(captions: list[Caption]) -> list[Caption]:
        began = perf_counter()
        draw(captions)
        spent_s = (perf_counter() - began) / max(1, len(captions))
        return [
            msgspec.structs.replace(one, shown_s=clock.done(one.channel, one.ready_s, spent_s))
            for one in captions
        ]

    return op.flat_map_batch("draw", up, shown)
