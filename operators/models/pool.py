"""A bounded pool of decoding sessions: which segments may keep their KV cache.

A session is only a cache. One that was evicted, lost or never there is built again from the prompt's
head, and nothing but the time taken tells.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import NamedTuple, Protocol

from operators.decoding.forward import Logits
from operators.decoding.session import PrefixSession


class SequenceStore(Protocol):
    """What the pool needs of a model: numbered sequences that can be copied, cut and extended."""

    def copy_sequence(self, source: int, target: int) -> None:
        """Let the empty sequence ``target`` hold what ``source`` holds."""
        ...

    def cut_sequence(self, sequence: int, length: int) -> None:
        """Forget what ``sequence`` holds from position ``length`` on."""
        ...

    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        """Append ``tokens`` to ``sequence`` at ``start``; logits of the last ``rows``."""
        ...


class Usage(NamedTuple):
    """What a pool holds."""

    sessions: int = 0
    #: Sessions that there is room for.
    most_sessions: int = 0
    #: Tokens in the cache, the head's counted once.
    tokens: int = 0


class _Sequence:
    """One numbered sequence as the `KvCache` of a session."""

    def __init__(self, store: SequenceStore, number: int) -> None:
        self._store = store
        self.number = number

    def cut(self, length: int) -> None:
        self._store.cut_sequence(self.number, length)

    def evaluate(self, tokens: Sequence[int], start: int, rows: int) -> Logits:
        return self._store.evaluate(self.number, tokens, start, rows)


class SessionPool:
    """At most ``size`` sessions that all begin with the same ``head``; the least recently used goes first.

    Workers of one process share one pool: a session is lent to one of them at a time, because logits
    are views of a buffer that the next pass overwrites.
    """

    HEAD = 0  # the sequence that holds the head and nothing else

    def __init__(self, store: SequenceStore, head: Sequence[int], size: int) -> None:
        """Evaluate ``head`` once; the store must have ``size`` + 1 sequences."""
        self._store = store
        self._head = list(head)
        self._free = list(range(size, 0, -1))
        self._open: OrderedDict[str, tuple[_Sequence, PrefixSession]] = OrderedDict()
        self._lock = Lock()
        #: What it held when a session was last given back; it can be read on any thread.
        self.usage = Usage(0, size, len(self._head))
        if self._head:
            store.evaluate(self.HEAD, self._head, 0, 1)

    @contextmanager
    def session(self, key: str) -> Iterator[PrefixSession]:
        """Lend the session of ``key``, made new if it is not in the pool."""
        with self._lock:
            if key not in self._open:
                self._open[key] = self._begin()
            self._open.move_to_end(key)
            try:
                yield self._open[key][1]
            except BaseException:
                # What the cache holds after a failed pass is not known.
                self._drop(key)
                raise
            finally:
                self._count()

    def release(self, key: str) -> None:
        """Free what ``key`` holds; unknown keys are welcome."""
        with self._lock:
            if key in self._open:
                self._drop(key)
                self._count()

    def _count(self) -> None:
        own = sum(max(0, session.held - len(self._head)) for _, session in self._open.values())
        self.usage = Usage(len(self._open), self.usage.most_sessions, len(self._head) + own)

    def _begin(self) -> tuple[_Sequence, PrefixSession]:
        if not self._free:
            self._drop(next(iter(self._open)))
        sequence = _Sequence(self._store, self._free.pop())
        if self._head:
            self._store.copy_sequence(self.HEAD, sequence.number)
        return sequence, PrefixSession(sequence, self._head)

    def _drop(self, key: str) -> None:
        sequence, _ = self._open.pop(key)
        sequence.cut(0)
        self._free.append(sequence.number)
