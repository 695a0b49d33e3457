"""The measure stage: what each caption erased, how much of the draft was accepted, how late it came."""

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
        meter: Makes the meter of one stream (or of a language of it), given its name, on its state.
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
        # What was measured is in the records; only the sums are forgotten. With an open segment, its last
        # caption is still on its way.
        is_over = self._stream is not None and not self.state.open and self._is_over(self._stream)
        return [], self._silence.is_long() or is_over
