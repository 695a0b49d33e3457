"""Wakes a stage of a dataflow when something has happened on another thread.

Bytewax calls a stateful stage for a key only when a value for the key arrives, or at a time of the wall
clock, which may be set back. Therefore wake-ups are values, which a source delivers to the stage.
"""

from datetime import UTC, datetime
from queue import Empty, SimpleQueue
from threading import local

from bytewax import operators as op
from bytewax.dataflow import Dataflow, operator
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.operators import KeyedStream
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from typing_extensions import override

# A worker that has nothing else to do waits this long at a time, and not at all once a wake-up is there. Its
# other sources wait as long, so it is short, but long enough to leave the processor idle.
_WAIT_S = 0.002
# Bytewax compares this time with the wall clock, which may be set back; this time is always in the past.
_AT_ONCE = datetime(1970, 1, 1, tzinfo=UTC)


class Worker:
    """The wake-ups of one worker. Only `wake` may be called on other threads."""

    def __init__(self) -> None:
        self._keys: SimpleQueue[str] = SimpleQueue()
        #: Number of things that a wake-up will be due for.
        self.pending = 0
        #: Whether it may wait: nothing has been handed in since its last turn.
        self.may_wait = True
        #: Whether nothing more will be handed in.
        self.is_over = False

    def wake(self, key: str) -> None:
        """Let the stage of this worker be called for ``key``."""
        self._keys.put(key)

    def began(self) -> None:
        """Something began that ends with a wake-up."""
        self.pending += 1
        self.may_wait = False

    def ended(self, count: int) -> None:
        """So many of these things have ended."""
        self.pending -= count

    def woken(self) -> list[str]:
        """The keys to wake; waits a moment for the first one."""
        wait_s, self.may_wait = _WAIT_S if self.may_wait else 0.0, True
        keys: dict[str, None] = {}
        try:
            keys[self._keys.get(block=wait_s > 0, timeout=wait_s)] = None
            while True:
                keys[self._keys.get_nowait()] = None
        except Empty:
            return list(keys)


class Workers(local):
    """The worker of the calling thread: Bytewax runs each worker as a thread."""

    def __init__(self) -> None:
        self.own = Worker()


@operator
def wake_ups(step_id: str, flow: Dataflow, up: KeyedStream[object], workers: Workers) -> KeyedStream[None]:
    """The wake-ups of all workers, by key.

    They end when ``up``, the input of the stage, has ended and nothing is pending any more. Something may
    still be on its way to the stage then, so at the end of its input it waits itself for what is pending.
    """
    op.output("end", up, _End(workers))
    return op.input("keys", flow, _Source(workers))


class _Source(DynamicSource[tuple[str, None]]):
    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    @override
    def build(self, step_id: str, worker_index: int, worker_count: int) -> "_Partition":
        return _Partition(self._workers.own)


class _Partition(StatelessSourcePartition[tuple[str, None]]):
    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    @override
    def next_batch(self) -> list[tuple[str, None]]:
        if self._worker.is_over and not self._worker.pending:
            raise StopIteration
        return [(key, None) for key in self._worker.woken()]

    @override
    def next_awake(self) -> datetime:
        return _AT_ONCE


class _End(DynamicSink[object]):
    """Learns on each worker when no more items will come."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    @override
    def build(self, step_id: str, worker_index: int, worker_count: int) -> "_EndPartition":
        return _EndPartition(self._workers.own)


class _EndPartition(StatelessSinkPartition[object]):
    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    @override
    def write_batch(self, items: list[object]) -> None:
        """Ignore the items."""

    @override
    def close(self) -> None:
        self._worker.is_over = True
