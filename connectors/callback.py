"""Sinks that pass each item to a function: the summary, the progress, a test."""

from collections.abc import Callable
from typing import TypeVar

from bytewax.outputs import DynamicSink, StatelessSinkPartition
from typing_extensions import override

X = TypeVar("X")


class CallbackSink(DynamicSink[X]):
    """Calls a function for each item.

    Delivery: at least once; after a resume, the items since the last snapshot are delivered again.

    Example:
        >>> from bytewax import operators as op
        >>> from bytewax.dataflow import Dataflow
        >>> from bytewax.testing import run_main
        >>> from pathlib import Path
        >>> from connectors import CallbackSink, JsonlSource
        >>> from operators import Caption
        >>> flow, seen = Dataflow("example"), []
        >>> captions = op.input("in", flow, JsonlSource(Path("captions.jsonl"), Caption))
        >>> op.output("out", captions, CallbackSink(seen.append))
        >>> run_main(flow)
        >>> len(seen) > 0
        True
    """

    def __init__(self, take: Callable[[X], None], end: Callable[[], None] | None = None) -> None:
        """``take`` is called on the worker's thread and must not block.

        ``end`` is called by each worker when no more items will come, even after an error; it must not raise.
        """
        self._take = take
        self._end = end

    @override
    def build(self, step_id: str, worker_index: int, worker_count: int) -> StatelessSinkPartition[X]:
        return _Partition(self._take, self._end)


class _Partition(StatelessSinkPartition[X]):
    def __init__(self, take: Callable[[X], None], end: Callable[[], None] | None) -> None:
        self._take = take
        self._end = end

    @override
    def write_batch(self, items: list[X]) -> None:
        for item in items:
            self._take(item)

    @override
    def close(self) -> None:
        if self._end:
            self._end()
