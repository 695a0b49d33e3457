"""Wakes a stage of a dataflow when something has happened on another thread.

Bytewax calls a stateful stage for a key only when a value for the key arrives, or at a time of the wall
clock, which may be set back. Therefore wake-ups are values, which a source delivers to the stage.
"""

from collections import deque
from datetime import UTC, datetime
from threading import Event as Flag
from threading import Lock

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


class WakeUps:
    """The wake-ups of a stage, for all workers of a process; thread-safe."""

    def __init__(self) -> None:
        # Not a queue: if a signal comes while `SimpleQueue.get` waits with a timeout, and the time is up when
        # it has been handled, the call waits for ever (CPython 3.11).
        self._keys: deque[str] = deque()
        self._is_woken = Flag()
        self._lock = Lock()
        self._pending = self._inputs = 0
        self._may_wait = True

    @property
    def are_over(self) -> bool:
        """Whether the inputs of all workers have ended and nothing is pending."""
        return not self._inputs and not self._pending

    def began(self) -> None:
        """Count something that will end with a wake-up."""
        with self._lock:
            self._pending += 1
            self._may_wait = False

    def ended(self, count: int) -> None:
        """So many of these things have ended."""
        with self._lock:
            self._pending -= count

    def input_began(self) -> None:
        """Count the input of a worker."""
        with self._lock:
            self._inputs += 1

    def input_ended(self) -> None:
        """The input of a worker has ended."""
        with self._lock:
            self._inputs -= 1

    def wake(self, key: str) -> None:
        """Let the stage be called for ``key``."""
        self._keys.append(key)
        self._is_woken.set()

    def woken(self) -> list[str]:
        """The keys to wake; waits a moment for the first one, unless something has just begun."""
        may_wait, self._may_wait = self._may_wait, True
        if may_wait:
            self._is_woken.wait(_WAIT_S)
        # First: a call from now on counts for the next turn.
        self._is_woken.clear()
        keys: dict[str, None] = {}
        while self._keys:
            keys[self._keys.popleft()] = None
        return list(keys)


@operator
def wake(
    step_id: str, flow: Dataflow, up: KeyedStream[object], wake_ups: WakeUps, processes: int = 1
) -> KeyedStream[None]:
    """The wake-ups of this process, by key; ``processes`` is the number of processes of the cluster.

    They end when ``up``, the input of the stage, has ended and nothing is pending any more. Something may
    still be on its way to the stage then, so at the end of its input it waits itself for what is pending.
    """
    op.output("end", up, _End(wake_ups))
    return op.input("keys", flow, _Source(wake_ups, processes))


class _Source(DynamicSource[tuple[str, None]]):
    """Delivers on the first worker of each process.

    Bytewax lets a source spin while it waits for other sources to end an epoch, and a source of one partition
    is on the first worker, too. Sources of the same worker end their epochs in the same turn.
    """

    def __init__(self, wake_ups: WakeUps, processes: int) -> None:
        self._wake_ups = wake_ups
        self._processes = processes

    @override
    def build(self, step_id: str, worker_index: int, worker_count: int) -> "_Partition":
        # Bytewax numbers the workers process by process, and all processes have the same number of them.
        is_first = worker_index % max(1, worker_count // self._processes) == 0
        return _Partition(self._wake_ups if is_first else None)


class _Partition(StatelessSourcePartition[tuple[str, None]]):
    def __init__(self, wake_ups: WakeUps | None) -> None:
        self._wake_ups = wake_ups

    @override
    def next_batch(self) -> list[tuple[str, None]]:
        if self._wake_ups is None or self._wake_ups.are_over:
            raise StopIteration
        return [(key, None) for key in self._wake_ups.woken()]

    @override
    def next_awake(self) -> datetime:
        return _AT_ONCE


class _End(DynamicSink[object]):
    """Learns on each worker when no more items will come."""

    def __init__(self, wake_ups: WakeUps) -> None:
        self._wake_ups = wake_ups

    @override
    def build(self, step_id: str, worker_index: int, worker_count: int) -> "_EndPartition":
        return _EndPartition(self._wake_ups)


class _EndPartition(StatelessSinkPartition[object]):
    def __init__(self, wake_ups: WakeUps) -> None:
        self._wake_ups = wake_ups
        wake_ups.input_began()

    @override
    def write_batch(self, items: list[object]) -> None:
        """Ignore the items."""

    @override
    def close(self) -> None:
        self._wake_ups.input_ended()
