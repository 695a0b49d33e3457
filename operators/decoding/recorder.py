"""Observes a translator: its method's tasks and results, and every pass that its sessions answer.

The methods and the translator are unchanged. Logits are recorded as the method gets them, for instance with a
lean towards terms. The cost of observing is not part of a pass's time.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Generic, NamedTuple, TypeVar

import msgspec
import numpy as np

from operators.decoding.decoder import Sessions
from operators.decoding.forward import (
    Decoded,
    Forward,
    Logits,
    Method,
    Origin,
    Session,
    Task,
    TreeForward,
    TreeSession,
)
from operators.decoding.trace import Decoding, LogitsRow, Pass, Token, deciding
from operators.decoding.tree import TokenTree


class Took(NamedTuple):
    """What an answer took."""

    #: Tokens evaluated for it, and tokens found in the cache.
    evaluated: int
    reused: int
    #: Of these, tokens behind the source that were kept although it has changed.
    kept: int
    seconds: float


#: Receives a request, its answer, and what it took.
See = Callable[[Forward | TreeForward, Logits, Took], None]

_Request = TypeVar("_Request", Forward, TreeForward)
_Session = TypeVar("_Session", bound=Session)


def watched(session: Session, see: See) -> Session:
    """``session``, with each request and answer passed to ``see`` before anyone else gets the answer."""
    return _WatchedTree(session, see) if isinstance(session, TreeSession) else _Watched(session, see)


class _Watched(Generic[_Session]):
    """A session that is observed."""

    def __init__(self, session: _Session, see: See) -> None:
        self._session = session
        self._see = see
        self.reused = self.kept = 0

    def forward(self, request: Forward) -> Logits:
        """Answer the request as the session does."""
        return self._watch(self._session.forward, request)

    def _watch(self, answer: Callable[[_Request], Logits], request: _Request) -> Logits:
        began = perf_counter()
        logits = answer(request)
        model_s = perf_counter() - began
        self.reused, self.kept = self._session.reused, self._session.kept
        # Before the method gets them: it may overwrite them.
        evaluated = request.logits_from + len(logits) - self.reused
        self._see(request, logits, Took(evaluated, self.reused, self.kept, model_s))
        return logits


class _WatchedTree(_Watched[TreeSession]):
    """The same for a session that supports trees."""

    def forward_tree(self, request: TreeForward) -> Logits:
        """Answer the request as the session does."""
        return self._watch(self._session.forward_tree, request)


class Seen(NamedTuple):
    """A pass as it was observed; what it decided shows only later."""

    #: The output's tokens before the first row.
    known: tuple[int, ...]
    #: Without ``stands`` and ``ends``.
    rows: tuple[LogitsRow, ...]
    evaluated: int
    model_ms: float
    #: What was offered, if it has branches: row i + 1 belongs to node i and judges its first child.
    tree: TokenTree = TokenTree()
    #: Tokens found in the cache; of these, those that were kept although the source has changed.
    reused: int = 0
    kept: int = 0


def decoding(task: Task, seen: Sequence[Seen], decoded: Decoded) -> Decoding:
    """What a method did for a task, from the observed passes and its result."""
    after = [*(one.known for one in seen[1:]), decoded.tokens]
    passes = tuple(
        Pass(len(one.known), _judged(one, then), one.evaluated, one.model_ms, one.reused, one.kept)
        for one, then in zip(seen, after, strict=True)
    )
    if passes:
        passes = (*passes[:-1], _ended(passes[-1], task, decoded))
    return Decoding(
        prompt_tokens=len(task.prompt),
        draft=tuple(task.draft),
        committed=task.committed,
        output=_tokens(decoded, passes),
        finished=decoded.cut is None,
        passes=passes,
    )


def unchanged(output: Sequence[int]) -> Decoding:
    """A window whose source had not changed: its output is kept without a check."""
    tokens = tuple(Token(token, Origin.COMMITTED, 0, None) for token in output)
    return Decoding(0, tuple(output), len(output), tokens, finished=True, passes=())


def _judged(one: Seen, then: Sequence[int]) -> tuple[LogitsRow, ...]:
    if one.tree.size:
        one = one._replace(rows=_on_path(one, then[len(one.known) :]))
    stand = then[len(one.known) : len(one.known) + len(one.rows)]
    decided = (
        msgspec.structs.replace(row, stands=token) for row, token in zip(one.rows, stand, strict=False)
    )
    return (*decided, *one.rows[len(stand) :])


def _on_path(one: Seen, tokens: Sequence[int]) -> tuple[LogitsRow, ...]:
    """The rows of the accepted branch, one for each place.

    A branch is accepted if it is the model's choice.
    """
    path = one.tree.first(len(one.rows) - 1).walk(tokens)
    rows = [one.rows[0], *(one.rows[node + 1] for node in path)]
    for place, node in enumerate(path):
        row = rows[place]
        if row.choice == one.tree.tokens[node]:
            rows[place] = msgspec.structs.replace(row, offered=row.choice, p_offered=row.p_choice)
    return tuple(rows)


def _ended(last: Pass, task: Task, decoded: Decoded) -> Pass:
    """The last pass, with the row that ended the output marked."""
    place = last.decided
    if decoded.cut is not None or place >= len(last.rows) or last.rows[place].choice not in task.stop:
        return last
    end = msgspec.structs.replace(last.rows[place], ends=True)
    return msgspec.structs.replace(last, rows=(*last.rows[:place], end, *last.rows[place + 1 :]))


def _tokens(decoded: Decoded, passes: Sequence[Pass]) -> tuple[Token, ...]:
    begins = [one.begin for one in passes]
    tokens = []
    for place, (token, origin) in enumerate(zip(decoded.tokens, decoded.origins, strict=True)):
        number = deciding(begins, place)
        row = passes[number - 1].rows[place - begins[number - 1]] if number else None
        tokens.append(Token(token, origin, number, None if row is None else _given(row, token)))
    return tuple(tokens)


def _given(row: LogitsRow, token: int) -> float | None:
    return row.p_choice if token == row.choice else row.p_offered


class Recorder:
    """Stands in for a translator's method and for its sessions."""

    def __init__(self, method: Callable[[Task], Method], sessions: Sessions) -> None:
        self._method = method
        self._sessions = sessions
        self._seen: list[Seen] = []
        # The last pass, until the method gets its logits.
        self._passed: tuple[Forward | TreeForward, Took] | None = None
        self._key = ""
        self._decodings: dict[str, Decoding] = {}

    def method(self, task: Task) -> Method:
        """Decode like the observed method."""
        self._seen, self._passed = [], None
        method = self._method(task)
        try:
            request = next(method)
            while True:
                logits = yield request
                self._see(task, logits)
                request = method.send(logits)
        except StopIteration as end:
            decoded: Decoded = end.value
            self._decodings[self._key] = decoding(task, self._seen, decoded)
            return decoded

    @contextmanager
    def session(self, key: str) -> Iterator[Session]:
        """Lend the session of ``key``, observed."""
        self._key = key
        with self._sessions.session(key) as session:
            yield watched(session, self._pass)

    def release(self, key: str) -> None:
        """Free what ``key`` holds."""
        self._sessions.release(key)

    def take(self) -> dict[str, Decoding]:
        """What was decoded since the last call, by the session's key."""
        taken, self._decodings = self._decodings, {}
        return taken

    def _pass(self, request: Forward | TreeForward, _logits: Logits, took: Took) -> None:
        self._passed = request, took

    def _see(self, task: Task, logits: Logits) -> None:
        if self._passed is None:  # it was an answer of the draft model, or none
            return
        (request, took), self._passed = self._passed, None
        prompt = len(task.prompt)
        output, first = list(request.tokens[prompt:]), request.logits_from + 1 - prompt
        tree = request.tree if isinstance(request, TreeForward) else TokenTree()
        offered = _first_children(tree) if tree.size else _offered(output, first, task)
        rows = tuple(
            _row(row, offered[number] if number < len(offered) else None) for number, row in enumerate(logits)
        )
        ms = round(1000 * took.seconds, 3)
        self._seen.append(Seen(tuple(output[:first]), rows, took.evaluated, ms, tree, took.reused, took.kept))


def _first_children(tree: TokenTree) -> list[int | None]:
    """The first choice offered after the known tokens and after each node."""
    first: dict[int, int] = {}
    for token, parent in zip(tree.tokens, tree.parents, strict=True):
        first.setdefault(parent, token)
    return [first.get(node) for node in range(-1, tree.size)]


def _offered(output: Sequence[int], first: int, task: Task) -> Sequence[int]:
    """The tokens that the rows judge; the last row of a block of the draft also judges the one after it."""
    draft = list(task.draft[: task.limit])
    is_block = first < len(output) < len(draft) and output == draft[: len(output)]
    return draft[first : len(output) + 1] if is_block else output[first:]


def _row(row: Logits, offered: int | None) -> LogitsRow:
    choice = int(row.argmax())
    weights = np.exp(row - row[choice])
    total = float(weights.sum())
    return LogitsRow(
        choice,
        _probability(1.0, total),
        offered,
        None if offered is None else _probability(float(weights[offered]), total),
    )


def _probability(weight: float, total: float) -> float:
    """Four decimals; 0 if the logits are not numbers."""
    p = weight / total
    return round(min(1.0, p), 4) if p >= 0.0 else 0.0
