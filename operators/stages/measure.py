"""The measure stage: the erasure of each caption, the acceptance of its draft, and its latency."""

from collections.abc import Callable

from bytewax import operators as op
from bytewax.dataflow import Stream, operator
from bytewax.operators import KeyedStream
from typing_extensions import override

from operators.events import Caption, ErasureRecord
from operators.metrics.erasure import ErasureMeter, ErasureState
from operators.stages.snapshots import StreamLogic, unpack


@operator
def measure(
    step_id: str,
    up: Stream[Caption],
    meter: Callable[[str, ErasureState], ErasureMeter],
    is_over: Callable[[str], bool] = lambda _stream: False,
) -> Stream[ErasureRecord]:
    """Measure each caption against the previous one of the same segment.

    The sums of a stream are kept until it is over or has been silent for a day.

    Args:
        up: Captions of any number of streams.
        meter: Makes the meter of a stream (or of one of its languages), given its name and its state.
        is_over: Whether a stream is known to be over; called from time to time.

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
        return _Stream(meter, is_over, ErasureState() if resume is None else unpack(resume, ErasureState))

    return op.key_rm("unkey", op.stateful_batch("meter", keyed, build))


class _Stream(StreamLogic[Caption, ErasureRecord, ErasureState]):
    def __init__(
        self,
        make_meter: Callable[[str, ErasureState], ErasureMeter],
        is_over: Callable[[str], bool],
        state: ErasureState,
    ) -> None:
        super().__init__(state)
        self._make_meter = make_meter
        self._is_over = is_over
        # Known with the first caption.
        self._stream: str | None = None
        self._meter: ErasureMeter | None = None

    @override
    def take(self, event: Caption) -> list[ErasureRecord]:
        self._stream = event.channel
        self._meter = self._meter or self._make_meter(self._stream, self.state)
        return [self._meter.record(event)]

    @override
    def on_notify(self) -> tuple[list[ErasureRecord], bool]:
        # The records contain the measurements; only the sums are freed. If a segment is open, its last
        # caption is still to come.
        is_over = self._stream is not None and not self.state.open and self._is_over(self._stream)
        return [], self._silence.is_long() or is_over
