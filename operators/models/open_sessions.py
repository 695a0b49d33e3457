"""Sessions that share one model's memory: each has its own sequence, and all start with the same head.

A session is only a cache. If it was evicted or lost, it is rebuilt from the prompt's head, which costs time
but changes no result. Not thread-safe: the owner must serialise access.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, cast

from operators.decoding.forward import Forward, Logits, best_tokens
from operators.decoding.session import PrefixSession
from operators.decoding.tree_session import BranchingSession
from operators.models.branches import BranchStore
from operators.models.branching_sequence import BranchingSequence
from operators.models.recurrent import RecurrentHead, RecurrentMemory, RecurrentSequence
from operators.models.store import SequenceStore
from operators.prefix import common_prefix
from operators.trouble import NoRoom

#: The sequence that holds only the head.
HEAD = 0
# Numbers of consecutive failures (2, 8, 32, …) after which the head is evaluated again. The gaps grow because
# this is expensive and a permanently broken model fails every time.
_SUSPICIOUS = frozenset(2 << power for power in range(0, 62, 2))


class Usage(NamedTuple):
    """What the sessions of a model hold."""

    sessions: int = 0
    #: Maximum number of sessions.
    most_sessions: int = 0
    #: Tokens in the cache; the head's are counted once.
    tokens: int = 0


class _Sequence:
    """One numbered sequence as the `KvCache` of a session; it can be cut at any position."""

    def __init__(self, store: SequenceStore, number: int, make_room: Callable[[int], None]) -> None:
        """``make_room`` drops all sequences except the one with that number."""
        self._store = store
        self.number = number
        self._make_room = make_room

    def cut(self, length: int) -> int:
        self._store.cut_sequence(self.number, length)
        return length

    def evaluate(self, tokens: Sequence[int], start: int, rows: int) -> Logits:
        try:
            return self._store.evaluate(self.number, tokens, start, rows)
        except NoRoom:
            self._make_room(self.number)
            # Part of the pass may already be in the cache.
            self.cut(start)
            return self._store.evaluate(self.number, tokens, start, rows)


_AnySequence = _Sequence | RecurrentSequence | BranchingSequence


class OpenSession(NamedTuple):
    """A session and the sequence that serves as its cache."""

    sequence: _AnySequence
    session: PrefixSession


class OpenSessions:
    """At most ``size`` sessions that all start with the same ``head``; the least recently used is evicted."""

    def __init__(
        self,
        store: SequenceStore,
        head: Sequence[int],
        size: int,
        memory: RecurrentMemory | None = None,
        *,
        branches: int = 0,
    ) -> None:
        """Evaluate ``head`` once; the store must have ``size`` + ``branches`` + 1 sequences.

        With ``memory``, sequences cannot be cut at arbitrary positions, and the store must have as many as
        ``memory`` says. With ``branches``, the store must be a `BranchStore`, and sessions answer requests
        for trees with up to that many branches. The two cannot be combined. Raises `ModelTrouble` if the
        model fails.
        """
        self._store = store
        self._memory = memory
        self._head = list(head)
        #: Maximum number of sessions.
        self.most = size
        self._free = list(range(size, 0, -1))
        # Shared by all sessions: only one session is lent out at a time, and it returns them.
        self._spare = range(size + 1, size + 1 + branches)
        self._open: OrderedDict[str, OpenSession] = OrderedDict()
        self._failures = 0
        self._is_head_there = False
        self._evaluate_head()
        #: Usage at the last count; it can be read on any thread.
        self.usage = Usage()
        self.count()

    @property
    def is_recurrent(self) -> bool:
        """Whether the memory cannot be cut at any position, so that sessions split passes as they need."""
        return self._memory is not None

    def refresh(self) -> None:
        """Evaluate the head again if repeated failures suggest that it is broken.

        This drops all sessions. Raises `ModelTrouble` if the model fails.
        """
        if not self._is_head_there or self._failures in _SUSPICIOUS:
            self._renew()

    def open(self, key: str) -> OpenSession:
        """Return the session of ``key``, created if necessary; it becomes the most recently used one."""
        if key not in self._open:
            self._open[key] = self._begin()
        self._open.move_to_end(key)
        return self._open[key]

    def size(self, key: str, request: Forward) -> int:
        """Number of tokens to evaluate in order to answer ``request`` in the session of ``key``."""
        if key in self._open:
            return self._open[key].session.size(request)
        head = min(common_prefix(self._head, list(request.tokens)), request.logits_from)
        return len(request.tokens) - head

    def fail(self, key: str) -> None:
        """Drop a session after a failure, because the contents of its cache are unknown then."""
        self.release(key)
        self._failures += 1

    def succeed(self) -> None:
        """Record that the model gave a usable answer."""
        self._failures = 0

    def release(self, key: str) -> None:
        """Free what ``key`` holds; unknown keys are allowed."""
        if key in self._open:
            self._drop(key)

    def keep_only(self, keys: Collection[str]) -> None:
        """Drop all sessions except those of ``keys``."""
        for key in [key for key in self._open if key not in keys]:
            self._drop(key)

    def count(self) -> None:
        """Update `usage` with what is held now."""
        own = sum(max(0, one.session.held - len(self._head)) for one in self._open.values())
        self.usage = Usage(len(self._open), self.most, len(self._head) + own)

    def _begin(self) -> OpenSession:
        if not self._free:
            self._drop(next(iter(self._open)))
        sequence = self._sequence(self._free.pop())
        if self._head:
            self._store.copy_sequence(HEAD, sequence.number)
        if not self._spare:
            return OpenSession(sequence, PrefixSession(sequence, self._head))
        store = cast(BranchStore, self._store)
        branching = BranchingSequence(sequence, sequence.number, store, self._spare, self._drop_others)
        return OpenSession(branching, BranchingSession(branching, self._head))

    def _sequence(self, number: int) -> _Sequence | RecurrentSequence:
        if self._memory is None:
            return _Sequence(self._store, number, self._drop_others)
        return RecurrentSequence(
            self._store,
            number,
            self._memory.spares_of(number, self.most),
            RecurrentHead(HEAD, self._head),
            self._memory,
            self._drop_others,
        )

    def _evaluate_head(self) -> None:
        if self._head:
            best_tokens(self._store.evaluate(HEAD, self._head, 0, 1))
        self._is_head_there = True

    def _renew(self) -> None:
        """Evaluate the head again: all sessions share it, so it may be the broken part."""
        self._failures += 1
        self._is_head_there = False
        self._drop_others(HEAD)
        self._store.cut_sequence(HEAD, 0)
        self._evaluate_head()

    def _drop_others(self, number: int) -> None:
        for key in [key for key, one in self._open.items() if one.sequence.number != number]:
            self._drop(key)

    def _drop(self, key: str) -> None:
        sequence = self._open.pop(key).sequence
        sequence.cut(0)
        self._free.append(sequence.number)
