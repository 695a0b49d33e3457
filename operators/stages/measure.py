"""The measure stage: what each caption erased, how much of the draft was accepted, how late it came."""

from collections.abc import Callable
from datetime import datetime

from bytewax import operators as op
from bytewax.dataflow import Stream, operator
from bytewax.operators import KeyedStream, StatefulBatchLogic
from typing_extensions import override

from operators.events import Caption, ErasureRecord
from operators.metrics.erasure import ErasureMeter, ErasureState
from operators.stages.snapshots import Silence, pack, unpack


@operator
def measure(
    step_id: str,
    up: Stream[Caption],
    meter: Callable[[str, ErasureState | None], ErasureMeter],
    is_over: Callable[[str], bool] = lambda _stream: False,
) -> Stream[ErasureRecord]:
    """Measure each caption against the previous one of the same segment.

    The sums of a stream are kept until it is over or has been silent for a day.

    Args:
        up: Captions of any number of streams.
        meter: Makes the meter of one stream (or of a language of it), given its name, from its saved state.
        is_over: Whether a stream is known to be over; asked once in a while.

    Example:
        >>> from bytewax import operators as op
        >>> from bytewax.dataflow import Dataflow
        >>> from bytewax.testing import TestingSink, run_main
        >>> from pathlib import Path
        >>> from connectors import JsonlSource
        >>> from operators import Caption, measure
        >>> from operators.metrics.erasure import ErasureMeter
        >>> flow, records = Dataflow("example"), []
        >>> captions = op.input("in", flow, JsonlSource(Path("captions.jsonl"), Caption))
        >>> meter = lambda stream, state: ErasureMeter("13a", state)
        >>> op.output("out", measure("measure", captions, meter), TestingSink(records))
        >>> run_main(flow)
        >>> records[0].raw.erased
        0
    """
    keyed: KeyedStream[Caption] = op.key_on("key", up, lambda caption: caption.channel)

    def build(resume: bytes | None) -> _Stream:
        return _Stream(meter, is_over, None if resume is None else unpack(resume, ErasureState))

    return op.key_rm("unkey", op.stateful_batch("meter", keyed, build))


class _Stream(StatefulBatchLogic[Caption, ErasureRecord, bytes]):
    def __init__(
        self,
        make_meter: Callable[[str, ErasureState | None], ErasureMeter],
        is_over: Callable[[str], bool],
        resume: ErasureState | None,
    ) -> None:
        self._make_meter = make_meter
        self._is_over = is_over
        self._resume = resume
        # Known with the first caption.
        self._stream: str | None = None
        self._meter: ErasureMeter | None = None
        self._silence = Silence()

    @override
    def on_batch(self, values: list[Caption]) -> tuple[list[ErasureRecord], bool]:
        self._stream = values[0].channel
        meter = self._meter = self._meter or self._make_meter(self._stream, self._resume)
        self._silence.broken()
        return [meter.record(caption) for caption in values], StatefulBatchLogic.RETAIN

    @override
    def on_notify(self) -> tuple[list[ErasureRecord], bool]:
        # What was measured is in the records; only the sums are forgotten.
        return [], self._silence.is_long() or self._has_ended()

    def _has_ended(self) -> bool:
        # With an open segment, its last caption is still on its way.
        if self._stream is None or self._meter is None or self._meter.state.open:
            return False
        return self._is_over(self._stream)

    @override
    def notify_at(self) -> datetime | None:
        return self._silence.look_at

    @override
    def snapshot(self) -> bytes:
        return pack(self._meter.state if self._meter is not None else self._resume or ErasureState())
