"""A bounded pool of decoding sessions that share one model's memory: which segments may keep their KV cache.

Each session has its own sequence, and starts with the head of its prompt. It is only a cache: if it was
evicted or lost, it is rebuilt from the head, which costs time but changes no result.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import NamedTuple, cast

from operators.decoding.forward import BeamForward, Forward, Logits, best_tokens
from operators.decoding.session import Keeping, PrefixSession
from operators.models.beams import Beams
from operators.models.branches import BranchingSequence, BranchingSession, BranchStore
from operators.models.store import SequenceStore, SharedStore, ShiftingStore
from operators.text import common_prefix
from operators.trouble import ModelTrouble, NoRoom


class Aside:
    """Holds tokens of a session until what stands before them has been evaluated, in a spare sequence.

    llama.cpp appends to a sequence only at its end. So where the source grows, the kept tokens of the output
    move here, the source is appended, and they come back behind it at new positions. Sequences share cells,
    so nothing is copied; the keys are turned with the next pass (RoPE; Su et al. 2021, section 3.2).
    """

    def __init__(self, store: ShiftingStore, number: int) -> None:
        self._store = store
        self._number = number
        self._held = (0, 0)

    def take(self, sequence: int, begin: int, end: int) -> None:
        """Hold what ``sequence`` holds from position ``begin`` up to ``end``; the caller cuts it there."""
        self.forget()
        self._store.copy_part(sequence, self._number, begin, end)
        self._held = begin, end

    def put_back(self, sequence: int, start: int) -> None:
        """Append it to ``sequence`` at position ``start``."""
        begin, end = self._held
        self._store.shift(self._number, begin, end, start - begin)
        self._store.copy_part(self._number, sequence, start, start + end - begin)
        self.forget()

    def forget(self) -> None:
        """Hold nothing."""
        if self._held != (0, 0):
            self._store.cut_sequence(self._number, 0)
            self._held = 0, 0


#: The sequence that holds only the first head.
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


class _Head(NamedTuple):
    """The beginning of a prompt, and the sequence that holds only this."""

    number: int
    tokens: list[int]


class _Sequence:
    """One numbered sequence as the `KvCache` of a session."""

    def __init__(
        self,
        store: SequenceStore,
        head: _Head,
        number: int,
        make_room: Callable[[int], bool],
        aside: Aside | None,
    ) -> None:
        """Begin with ``head``.

        ``make_room`` drops some sequences, but not the one with that number; whether there were any.
        """
        self._store = store
        self._head = head
        self._holds_head = True
        self.number = number
        self._make_room = make_room
        self._aside = aside
        self._take_head()

    def _take_head(self) -> int:
        """Hold the head in place of nothing; its length."""
        if self._head.tokens:
            self._store.copy_sequence(self._head.number, self.number)
        return len(self._head.tokens)

    def cut(self, length: int) -> int:
        if self._aside is not None:
            self._aside.forget()
        self._holds_head = self._holds_head and length >= len(self._head.tokens)
        try:
            self._store.cut_sequence(self.number, length)
        except ModelTrouble:
            # A recurrent layer holds one state for all tokens: those after the head are evaluated again.
            self._store.cut_sequence(self.number, 0)
            return self._take_head() if self._holds_head else 0
        return length

    def set_aside(self, begin: int, end: int, length: int) -> None:
        if self._aside is not None:
            self._aside.take(self.number, begin, end)
            self._store.cut_sequence(self.number, length)

    def put_back(self, start: int) -> None:
        if self._aside is not None:
            self._aside.put_back(self.number, start)

    def evaluate(self, tokens: Sequence[int], start: int, rows: int) -> Logits:
        while True:
            try:
                return self._store.evaluate(self.number, tokens, start, rows)
            except NoRoom:
                if not self._make_room(self.number):
                    raise
                # Part of the pass may already be in the cache.
                if self.cut(start) < start:
                    raise


_AnySequence = _Sequence | BranchingSequence


class OpenSession(NamedTuple):
    """A session and the sequence that serves as its cache."""

    sequence: _AnySequence
    session: PrefixSession
    #: Length of the head that it shares with other sessions.
    shared: int
    #: Where continuations of its sequence are held, if the pool has sequences for them.
    beams: Beams | None = None


class SessionPool:
    """At most ``size`` sessions that start with one of the heads; the least recently used is evicted.

    Workers of one process share a pool, which lends a session to one of them at a time (`session`), because
    logits are views of a buffer that the next pass overwrites. Methods other than `session` and `release` are
    for an owner that has exclusive use of all sessions and lends none, such as a scheduler's thread.
    """

    def __init__(
        self,
        store: SequenceStore,
        head: Sequence[int],
        size: int,
        *,
        branches: int = 0,
        further: Sequence[Sequence[int]] = (),
        least_kept: int | None = None,
        beams: int = 0,
    ) -> None:
        """Evaluate the heads once.

        The store must have ``size`` + ``branches`` + 1 sequences, and one for each further head. With
        ``branches``, the store must be a `BranchStore`, and sessions answer requests for trees with up to
        that many branches.

        Args:
            store: The model's memory.
            head: What most prompts begin with.
            size: Maximum number of sessions.
            branches: Maximum number of branches of a tree.
            further: What other prompts begin with.
            least_kept: Minimum number of tokens of outputs that are kept in one pass behind prompts that have
                changed; fewer are evaluated. The store must be a `ShiftingStore` then, and have ``size`` more
                sequences. None keeps none.
            beams: Maximum number of continuations of a session in a beam search. The store must be a
                `SharedStore` then, and have so many more sequences for each session.

        Raises:
            ModelTrouble: if the model fails.
        """
        self._store = store
        self._heads = [_Head(HEAD, list(head))]
        first = size + branches + 1
        self._heads += [_Head(first + place, list(one)) for place, one in enumerate(further)]
        #: Maximum number of sessions.
        self.most = size
        self._free = list(range(size, 0, -1))
        # Shared by all sessions: only one session is lent out at a time, and it returns them.
        self._spare = range(size + 1, size + 1 + branches)
        #: Minimum number of tokens kept in one pass behind prompts that have changed; None if none are.
        self.least_kept = least_kept
        # The sequence in which tokens of a session wait has the session's number and this more.
        self._aside_from = size + branches + len(self._heads) - 1
        #: Maximum number of hypotheses of a session in a beam search; 0 if it can hold none.
        self.beams = 0 if branches else beams
        self._beams_from = self._aside_from + 1 + (size if self.least_kept is not None else 0)
        self._open: OrderedDict[str, OpenSession] = OrderedDict()
        self._lock = Lock()
        self._failures = 0
        self._is_head_there = False
        #: How often the heads have been evaluated: more than once only after failures.
        self.head_evaluations = 0
        self._evaluate_heads()

    @contextmanager
    def session(self, key: str) -> Iterator[PrefixSession]:
        """Lend the session of ``key``, created if it is not in the pool."""
        with self._lock:
            self.refresh()
            session = self.open(key).session
            try:
                yield session
            except BaseException:
                self.fail(key)
                raise
            else:
                self.succeed()
                if isinstance(session, BranchingSession):
                    session.settle()

    def refresh(self) -> None:
        """Evaluate the heads again if repeated failures suggest that they are broken.

        This drops all sessions. Raises `ModelTrouble` if the model fails.
        """
        if not self._is_head_there or self._failures in _SUSPICIOUS:
            self._renew()

    def open(self, key: str, tokens: Sequence[int] = ()) -> OpenSession:
        """Return the session of ``key``, created if necessary; it becomes the most recently used one.

        A session is created with the head that the requested ``tokens`` begin with.
        """
        if key not in self._open:
            self._open[key] = self._begin(self._head_of(tokens))
        self._open.move_to_end(key)
        return self._open[key]

    def size(self, key: str, request: Forward | BeamForward) -> int:
        """Number of tokens to evaluate in order to answer ``request`` in the session of ``key``.

        It counts as in a pass that other sessions share: all tokens that can be kept are kept.
        """
        if key in self._open:
            return self._open[key].session.size(request, keeps=True)
        tokens = list(request.tokens)
        head = min(common_prefix(self._head_of(tokens).tokens, tokens), request.logits_from)
        more = sum(map(len, request.paths)) if isinstance(request, BeamForward) else 0
        return len(request.tokens) - head + more

    def fail(self, key: str) -> None:
        """Drop a session after a failure, because the contents of its cache are unknown then."""
        if key in self._open:
            self._drop(key)
        self._failures += 1

    def succeed(self) -> None:
        """Record that the model gave a usable answer."""
        self._failures = 0

    def release(self, key: str) -> None:
        """Free what ``key`` holds; unknown keys are allowed."""
        with self._lock:
            if key in self._open:
                self._drop(key)

    def drop_oldest(self, keys: Collection[str]) -> bool:
        """Drop half of the sessions, the oldest first, but none of ``keys``; whether there were any."""
        others = [key for key in self._open if key not in keys]
        for key in others[: (len(others) + 1) // 2]:
            self._drop(key)
        return bool(others)

    def _drop_oldest_others(self, number: int) -> bool:
        return self.drop_oldest([key for key, one in self._open.items() if one.sequence.number == number])

    @property
    def usage(self) -> Usage:
        """What is held now; it can be read on any thread."""
        opened = tuple(self._open.values())
        heads = sum(len(head.tokens) for head in self._heads)
        own = sum(max(0, one.session.held - one.shared) for one in opened)
        return Usage(len(opened), self.most, heads + own)

    def _head_of(self, tokens: Sequence[int]) -> _Head:
        if len(self._heads) == 1:
            return self._heads[0]
        return max(self._heads, key=lambda head: common_prefix(head.tokens, list(tokens)))

    def _begin(self, head: _Head) -> OpenSession:
        if not self._free:
            self._drop(next(iter(self._open)))
        sequence = self._sequence(head, self._free.pop())
        shared = len(head.tokens)
        keeping = None
        if self.least_kept is not None:
            keeping = Keeping(sequence, self.least_kept)
        if not self._spare:
            beams = self._beams_of(sequence.number)
            return OpenSession(sequence, PrefixSession(sequence, head.tokens, keeping, beams), shared, beams)
        store = cast(BranchStore, self._store)
        branching = BranchingSequence(sequence, sequence.number, store, self._spare, self._drop_others)
        return OpenSession(branching, BranchingSession(branching, head.tokens, keeping), shared)

    def _beams_of(self, number: int) -> Beams | None:
        if not self.beams:
            return None
        first = self._beams_from + (number - 1) * self.beams
        return Beams(cast(SharedStore, self._store), number, range(first, first + self.beams))

    def _sequence(self, head: _Head, number: int) -> _Sequence:
        aside = None
        if self.least_kept is not None:
            aside = Aside(cast(ShiftingStore, self._store), self._aside_from + number)
        return _Sequence(self._store, head, number, self._drop_oldest_others, aside)

    def _evaluate_heads(self) -> None:
        for head in self._heads:
            if head.tokens:
                best_tokens(self._store.evaluate(head.number, head.tokens, 0, 1))
        self._is_head_there = True
        self.head_evaluations += 1

    def _renew(self) -> None:
        """Evaluate the heads again: all sessions share them, so they may be the broken part."""
        self._failures += 1
        self._is_head_there = False
        self._drop_others(HEAD)
        for head in self._heads:
            self._store.cut_sequence(head.number, 0)
        self._evaluate_heads()

    def _drop_others(self, number: int) -> None:
        for key in [key for key, one in self._open.items() if one.sequence.number != number]:
            self._drop(key)

    def _drop(self, key: str) -> None:
        opened = self._open.pop(key)
        if opened.beams is not None:
            opened.beams.forget()
        opened.sequence.cut(0)
        self._free.append(opened.sequence.number)
