"""A source that delivers the events of a load, each when it is due."""

from collections.abc import Iterator
from datetime import datetime
from threading import Event as Flag
from time import monotonic
from typing import Generic

from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from typing_extensions import override

from connectors.pacing import ALWAYS_DUE, nap
from flows.loadgen.speech import Due, E


class LoadSource(FixedPartitionedSource[E, None], Generic[E]):
    """The events of all rooms. Delivery: best effort; a load cannot be resumed."""

    def __init__(self, events: Iterator[Due[E]], stop: Flag) -> None:
        """``events`` come in the order of their times; ``stop`` ends them."""
        self.events = events
        self.stop = stop
        self.began_s: float | None = None

    def now(self) -> float:
        """Seconds since the load began."""
        return 0.0 if self.began_s is None else monotonic() - self.began_s

    @override
    def list_parts(self) -> list[str]:
        return ["load"]

    @override
    def build_part(self, step_id: str, for_part: str, resume_state: None) -> "_Partition[E]":
        self.began_s = monotonic()
        return _Partition(self)


class _Partition(StatefulSourcePartition[E, None], Generic[E]):
    def __init__(self, source: LoadSource[E]) -> None:
        self._source = source
        self._following = next(source.events, None)

    @override
    def next_batch(self) -> list[E]:
        if self._following is None or self._source.stop.is_set():
            raise StopIteration
        due = list[E]()
        while self._following is not None and self._following[0] <= self._source.now():
            due.append(self._following[1])
            self._following = next(self._source.events, None)
        if not due and self._following is not None:
            nap(self._following[0] - self._source.now())
        return due

    @override
    def next_awake(self) -> datetime | None:
        return ALWAYS_DUE

    @override
    def snapshot(self) -> None:
        return None
