"""The measure stage: what each caption erased, how much of the draft was accepted, how late it came."""

from collections.abc import Callable

from bytewax import operators as op
from bytewax.dataflow import Stream, operator
from bytewax.operators import KeyedStream, StatefulBatchLogic
from typing_extensions import override

from operators.events import Caption, ErasureRecord
from operators.metrics.erasure import ErasureMeter, ErasureState
from operators.snapshots import pack, unpack


@operator
def measure(
    step_id: str, up: Stream[Caption], meter: Callable[[str, ErasureState | None], ErasureMeter]
) -> Stream[ErasureRecord]:
    """Measure each caption against the previous one of the same segment.

    Args:
        step_id: Unique id.
        up: Captions of any number of streams.
        meter: Makes the meter of one stream, given its name, from its saved state.

    Example:
        >>> from bytewax import operators as op
        >>> from bytewax.dataflow import Dataflow
        >>> from bytewax.testing import TestingSink, run_main
        >>> from pathlib import Path
        >>> from connectors import JsonlSource
        >>> from operators import Caption, measure
        >>> from operators.metrics.erasure import ErasureMeter
        >>> from operators.metrics.tokenizers import tokenizer
        >>> flow, records = Dataflow("example"), []
        >>> captions = op.input("in", flow, JsonlSource(Path("captions.jsonl"), Caption))
        >>> meter = lambda stream, state: ErasureMeter(tokenizer("13a"), "tok:13a", state)
        >>> op.output("out", measure("measure", captions, meter), TestingSink(records))
        >>> run_main(flow)
        >>> records[0].raw.erased
        0
    """
    keyed: KeyedStream[Caption] = op.key_on("key", up, lambda caption: caption.stream)

    def build(resume: bytes | None) -> _Stream:
        return _Stream(meter, None if resume is None else unpack(resume, ErasureState))

    return op.key_rm("unkey", op.stateful_batch("meter", keyed, build))


class _Stream(StatefulBatchLogic[Caption, ErasureRecord, bytes]):
    def __init__(
        self, make_meter: Callable[[str, ErasureState | None], ErasureMeter], resume: ErasureState | None
    ) -> None:
        self._make_meter = make_meter
        self._resume = resume
        # Made with the first caption, which knows its stream.
        self._meter: ErasureMeter | None = None

    @override
    def on_batch(self, values: list[Caption]) -> tuple[list[ErasureRecord], bool]:
        meter = self._meter = self._meter or self._make_meter(values[0].stream, self._resume)
        return [meter.record(caption) for caption in values], StatefulBatchLogic.RETAIN

    @override
    def snapshot(self) -> bytes:
        return pack(self._meter.state if self._meter is not None else self._resume or ErasureState())
