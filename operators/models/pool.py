"""A bounded pool of decoding sessions that share one model's memory.

Each session has its own sequence, and starts with the head of its prompt. It is only a cache: if it was
evicted or lost, it is rebuilt from the head, which costs time but changes no result.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import count, islice
from threading import Lock
from typing import NamedTuple

import numpy as np

from operators.decoding.forward import BeamForward, best_tokens
from operators.model_errors import CacheFullError, ModelError
from operators.models.kv import KvSequence, KvSession, KvTreeSession, SequenceStore
from operators.serving.scheduler import PassAnswer, PassRequest
from operators.text import common_prefix

# Numbers of consecutive failures (2, 8, 32, …) after which the head is evaluated again. The gaps grow because
# this is expensive and a permanently broken model fails every time.
_SUSPICIOUS = frozenset(2 << power for power in range(0, 62, 2))


class Usage(NamedTuple):
    sessions: int = 0
    #: Maximum number of sessions.
    most_sessions: int = 0
    #: Tokens in the cache; the head's are counted once.
    tokens: int = 0


class SessionPool:
    """At most ``size`` sessions that start with one of the heads; the least recently used is evicted.

    Workers of one process share a pool. It lends a session to one worker at a time (`session`), because
    logits are views of a buffer that the next pass overwrites. Methods other than `session` and `release` are
    for an owner that has exclusive use of all sessions and lends none, such as a scheduler's thread. For this
    owner, the pool is the `Passes` of a model.
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

        Args:
            store: The model's memory, with ``size`` + ``branches`` + 1 sequences, and one for each further
                head.
            head: The first tokens of most prompts.
            size: Maximum number of sessions.
            branches: Maximum number of branches of a tree.
            further: The first tokens of other prompts.
            least_kept: Minimum number of output tokens that are kept in one pass after changed prompts; fewer
                are evaluated. The store then needs ``size`` more sequences. None keeps no tokens.
            beams: Maximum number of continuations of a session in a beam search. The store needs as many more
                sequences for each session.

        Raises:
            ModelError: if the model fails.
        """
        self._store = store
        #: Maximum number of sessions.
        self.most = size
        #: Maximum number of hypotheses of a session in a beam search; 0 if there is no beam search.
        self.beams = 0 if branches else beams
        #: Minimum number of tokens kept in one pass after changed prompts; None if none are kept.
        self.least_kept = least_kept
        numbers = count(1)
        own = list(islice(numbers, size))
        # Shared by all sessions: only one session is lent out at a time, and it returns them.
        self._spare = list(islice(numbers, branches))
        # The heads, by the number of the sequence that holds only this head.
        self._heads = {0: list(head)} | {next(numbers): list(one) for one in further}
        parked = own if least_kept is None else list(islice(numbers, size))
        self._free = [
            KvSequence(
                store,
                number,
                self._drop_oldest_others,
                parked=None if least_kept is None else aside,
                beams=list(islice(numbers, self.beams)),
                spare=self._spare,
            )
            for number, aside in zip(own, parked, strict=True)
        ][::-1]
        self._open: OrderedDict[str, KvSession] = OrderedDict()
        self._lock = Lock()
        self._failures = 0
        self._is_head_there = False
        #: How often the heads have been evaluated: more than once only after failures.
        self.head_evaluations = 0
        self._evaluate_heads()

    @contextmanager
    def session(self, key: str) -> Iterator[KvSession]:
        with self._lock:
            self._refresh()
            session = self._session(key)
            try:
                yield session
            except BaseException:
                self.fail(key)
                raise
            else:
                self.succeed()
                if isinstance(session, KvTreeSession):
                    session.settle()

    def size(self, asked: PassRequest) -> int:
        """Number of tokens that a pass must evaluate to answer this request.

        It assumes a pass that other sessions share, in which all tokens that can be kept are kept.
        """
        key, request = asked
        if key in self._open:
            return self._open[key].size(request, keeps=True)
        head = self._heads[self._head_of(request.tokens)]
        known = min(common_prefix(head, list(request.tokens)), request.logits_from)
        more = sum(map(len, request.paths)) if isinstance(request, BeamForward) else 0
        return len(request.tokens) - known + more

    def answer(self, asked: Sequence[PassRequest]) -> Iterator[PassAnswer]:
        try:
            self._refresh()
        except ModelError as error:
            yield from (PassAnswer(error) for _ in asked)
            return
        together = self._together(asked)
        yield from together if together is not None else map(self._alone, asked)

    def fail(self, key: str) -> None:
        """Drop a session after a failure, because the contents of its cache are unknown then."""
        if key in self._open:
            self._drop(key)
        self._failures += 1

    def succeed(self) -> None:
        self._failures = 0

    def release(self, key: str) -> None:
        with self._lock:
            if key in self._open:
                self._drop(key)

    @property
    def usage(self) -> Usage:
        """The current usage; it can be read on any thread."""
        opened = tuple(self._open.values())
        own = sum(max(0, one.held - one.shared) for one in opened)
        return Usage(len(opened), self.most, sum(map(len, self._heads.values())) + own)

    def _alone(self, asked: PassRequest) -> PassAnswer:
        try:
            session = self._session(asked.key, asked.request.tokens)
            if isinstance(asked.request, BeamForward):
                logits = session.forward_beams(asked.request)
            else:
                logits = session.forward(asked.request)
        except ModelError as error:
            return PassAnswer(error)
        return PassAnswer(logits, session.reused, session.kept)

    def _together(self, asked: Sequence[PassRequest]) -> list[PassAnswer] | None:
        """All answers from one pass; None if each request must be answered alone."""
        widths = (len(one.request.paths) for one in asked if isinstance(one.request, BeamForward))
        if len(asked) == 1 or not self._store.largest_pass or max(widths, default=0) > self.beams:
            return None
        sessions = [self._session(one.key, one.request.tokens) for one in asked]
        # The lead pass and the rotation of keys are paid for once.
        movable = (session.movable(one.request) for session, one in zip(sessions, asked, strict=True))
        keeps = self.least_kept is not None and sum(movable) >= self.least_kept
        sizes = (session.size(one.request, keeps=keeps) for session, one in zip(sessions, asked, strict=True))
        if sum(sizes) > self._store.largest_pass:
            return None
        while True:
            try:
                return self._pass(asked, sessions, keeps=keeps)
            except CacheFullError:
                if not self._drop_oldest({one.key for one in asked}):
                    return None
                # Parked tokens are lost.
                keeps = False
            except ModelError:
                # One request may be the cause, and the others must not fail because of it.
                return None

    def _pass(
        self, asked: Sequence[PassRequest], sessions: Sequence[KvSession], *, keeps: bool
    ) -> list[PassAnswer]:
        """The answers to all requests; raises `ModelError` if the model fails."""
        pairs = list(zip(sessions, (one.request for one in asked), strict=True))
        leads = [session.begin(request, keeps=keeps) for session, request in pairs]
        if first := [lead for lead in leads if lead is not None]:
            self._store.evaluate_parts(first)
        parts = [session.parts(request) for session, request in pairs]
        made = iter(self._store.evaluate_parts([part for several in parts for part in several]))
        answers = []
        for (session, request), several in zip(pairs, parts, strict=True):
            rows = [next(made) for _ in several]
            session.end(request)
            logits = rows[0] if len(rows) == 1 else np.concatenate(rows)
            answers.append(PassAnswer(logits, session.reused, session.kept))
        return answers

    def _session(self, key: str, tokens: Sequence[int] = ()) -> KvSession:
        """The session of ``key``, created if necessary; it becomes the most recently used one.

        A session is created with the head that the requested ``tokens`` begin with.
        """
        if key not in self._open:
            if not self._free:
                self._drop(next(iter(self._open)))
            number = self._head_of(tokens)
            head, sequence = self._heads[number], self._free.pop()
            sequence.begin(number, len(head))
            kind = KvTreeSession if self._spare else KvSession
            self._open[key] = kind(sequence, head, self.least_kept or 1)
        self._open.move_to_end(key)
        return self._open[key]

    def _head_of(self, tokens: Sequence[int]) -> int:
        return max(self._heads, key=lambda number: common_prefix(self._heads[number], list(tokens)))

    def _refresh(self) -> None:
        """Evaluate the heads again if repeated failures suggest that they are broken.

        All sessions share them, so this drops all. Raises `ModelError` if the model fails.
        """
        if self._is_head_there and self._failures not in _SUSPICIOUS:
            return
        self._failures += 1
        self._is_head_there = False
        for key in list(self._open):
            self._drop(key)
        for number in self._heads:
            self._store.cut_sequence(number, 0)
        self._evaluate_heads()

    def _evaluate_heads(self) -> None:
        for number, head in self._heads.items():
            if head:
                best_tokens(self._store.evaluate(number, head, 0, 1))
        self._is_head_there = True
        self.head_evaluations += 1

    def _drop_oldest(self, keys: Collection[str]) -> bool:
        """Drop half of the sessions, the oldest first, but none of ``keys``; return whether any was."""
        others = [key for key in self._open if key not in keys]
        for key in others[: (len(others) + 1) // 2]:
            self._drop(key)
        return bool(others)

    def _drop_oldest_others(self, number: int) -> bool:
        return self._drop_oldest([key for key, one in self._open.items() if one.sequence.number == number])

    def _drop(self, key: str) -> None:
        sequence = self._open.pop(key).sequence
        sequence.clear()
        self._free.append(sequence)
