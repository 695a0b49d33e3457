"""Observes a translator: its method's tasks and results, and every pass that its sessions answer.

The methods and the translator are unchanged. Logits are recorded as the method gets them, for instance with a
lean towards terms. The cost of observing is not part of a pass's time.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Generic, NamedTuple, TypeVar

import msgspec
import numpy as np

from operators.decoding.drive import Sessions
from operators.decoding.forward import (
    NO_ROWS,
    BeamForward,
    BeamSession,
    Decoded,
    Forward,
    Logits,
    Method,
    ModelRequest,
    Origin,
    Session,
    Task,
    TreeForward,
    TreeSession,
    observed,
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
See = Callable[[ModelRequest, Logits, Took], None]

_Request = TypeVar("_Request", Forward, TreeForward, BeamForward)
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

    def forward_beams(self, request: BeamForward) -> Logits:
        """Answer the request as the session does, with no rows if it has no continuations."""
        if not isinstance(self._session, BeamSession):
            return NO_ROWS
        return self._watch(self._session.forward_beams, request)

    def _watch(self, answer: Callable[[_Request], Logits], request: _Request) -> Logits:
        began = perf_counter()
        logits = answer(request)
        model_s = perf_counter() - began
        self.reused, self.kept = self._session.reused, self._session.kept
        if not len(logits):  # the session cannot hold so many continuations
            return logits
        # Before the method gets them: it may overwrite them.
        evaluated = request.logits_from + len(logits) - self.reused
        self._see(request, logits, Took(evaluated, self.reused, self.kept, model_s))
        return logits


class _WatchedTree(_Watched[TreeSession]):
    """The same for a session that supports trees."""

    def forward_tree(self, request: TreeForward) -> Logits:
        """Answer the request as the session does."""
        return self._watch(self._session.forward_tree, request)


class SeenRow(NamedTuple):
    """A row of logits."""

    #: Without ``stands`` and ``ends``.
    row: LogitsRow
    #: The most probable tokens: a beam search may take another than the model's choice.
    likely: Mapping[int, float]

    def standing(self, token: int) -> LogitsRow:
        """The row with the token that was decided there."""
        p = self.likely.get(token) if self.row.p(token) is None else None
        return msgspec.structs.replace(self.row, stands=token, p_stands=p)


class Seen(NamedTuple):
    """A pass as it was observed; what it decided shows only later."""

    #: The output's tokens before the first row.
    known: tuple[int, ...]
    rows: tuple[SeenRow, ...]
    evaluated: int
    model_ms: float
    #: What was offered, if it has branches: row i + 1 belongs to node i and judges its first child.
    tree: TokenTree = TokenTree()
    #: Tokens found in the cache; of these, those that were kept although the source has changed.
    reused: int = 0
    kept: int = 0
    #: In a beam search: the continuations of ``known``, with a row for the end of each.
    paths: tuple[tuple[int, ...], ...] = ()


def decoding(task: Task, observed: Sequence[Seen], decoded: Decoded) -> Decoding:
    """What a method did for a task, from the observed passes and its result."""
    seen = _onwards(_on_beam(_concluded(observed, decoded), decoded.tokens))
    after = [*(one.known for one in seen[1:]), decoded.tokens]
    passes = [
        Pass(len(one.known), _judged(one, then), one.evaluated, one.model_ms, one.reused, one.kept)
        for one, then in zip(seen, after, strict=True)
    ]
    if decoded.cut is None:
        _mark_end(passes, task)
    return Decoding(
        prompt_tokens=len(task.prompt),
        draft=tuple(task.draft),
        committed=task.committed,
        output=_tokens(decoded, passes),
        finished=decoded.cut is None,
        passes=tuple(passes),
    )


def _concluded(observed: Sequence[Seen], decoded: Decoded) -> list[Seen]:
    """The passes, of which those that looked for another answer in vain decided nothing."""
    last = len(observed) if decoded.passes is None else decoded.passes
    in_vain = [
        one._replace(known=decoded.tokens, rows=(), tree=TokenTree(), paths=()) for one in observed[last:]
    ]
    return [*observed[:last], *in_vain]


def _onwards(seen: Sequence[Seen]) -> list[Seen]:
    """The passes, of which those that a later one took back decided nothing."""
    kept: list[Seen] = []
    for one in reversed(seen):
        taken_back = kept and len(one.known) > len(kept[-1].known)
        kept.append(one._replace(known=kept[-1].known, rows=(), tree=TokenTree()) if taken_back else one)
    return kept[::-1]


def _on_beam(observed: Sequence[Seen], output: tuple[int, ...]) -> list[Seen]:
    """The passes of a search with the row of the continuation that won, and where each of them begins.

    A pass that did not evaluate it has no rows: the search went on after its end, or was given up.
    """
    seen: list[Seen] = []
    known = output
    # Only a search that was given up is followed by passes that are none of its own.
    is_given_up = False
    for one in reversed(observed):
        if one.paths:
            won = None if is_given_up else _winner(one, output)
            rows = () if won is None else (one.rows[won],)
            known = known if won is None else one.known + one.paths[won]
            seen.append(one._replace(known=known, rows=rows))
        else:
            is_given_up, known = True, one.known
            seen.append(one)
    return seen[::-1]


def _winner(one: Seen, output: tuple[int, ...]) -> int | None:
    """Which of the continuations the output begins with."""
    begin = len(one.known)
    return next((at for at, path in enumerate(one.paths) if output[begin : begin + len(path)] == path), None)


def unchanged(output: Sequence[int]) -> Decoding:
    """A window whose source had not changed: its output is kept without a check."""
    tokens = tuple(Token(token, Origin.COMMITTED, 0, None) for token in output)
    return Decoding(0, tuple(output), len(output), tokens, finished=True, passes=())


def _judged(one: Seen, then: Sequence[int]) -> tuple[LogitsRow, ...]:
    rows = _on_path(one, then[len(one.known) :]) if one.tree.size else one.rows
    stand = then[len(one.known) : len(one.known) + len(rows)]
    decided = (row.standing(token) for row, token in zip(rows, stand, strict=False))
    return (*decided, *(each.row for each in rows[len(stand) :]))


def _on_path(one: Seen, tokens: Sequence[int]) -> tuple[SeenRow, ...]:
    """The rows of the accepted branch, one for each place.

    A branch is accepted if it is the model's choice.
    """
    path = one.tree.first(len(one.rows) - 1).walk(tokens)
    rows = [one.rows[0], *(one.rows[node + 1] for node in path)]
    for place, node in enumerate(path):
        row = rows[place].row
        if row.choice == one.tree.tokens[node]:
            row = msgspec.structs.replace(row, offered=row.choice, p_offered=row.p_choice)
            rows[place] = rows[place]._replace(row=row)
    return tuple(rows)


def _mark_end(passes: list[Pass], task: Task) -> None:
    """Mark the row that ended the output."""
    # What a search evaluated after the end has no rows.
    number = max((number for number, one in enumerate(passes) if one.rows), default=None)
    if number is None:
        return
    last = passes[number]
    place = last.decided
    if place < len(last.rows) and last.rows[place].choice in task.stop:
        end = msgspec.structs.replace(last.rows[place], ends=True)
        rows = (*last.rows[:place], end, *last.rows[place + 1 :])
        passes[number] = msgspec.structs.replace(last, rows=rows)


def _tokens(decoded: Decoded, passes: Sequence[Pass]) -> tuple[Token, ...]:
    begins = [one.begin for one in passes]
    tokens = []
    for place, (token, origin) in enumerate(zip(decoded.tokens, decoded.origins, strict=True)):
        number = deciding(begins, place)
        row = passes[number - 1].rows[place - begins[number - 1]] if number else None
        tokens.append(Token(token, origin, number, None if row is None else row.p(token)))
    return tuple(tokens)


class Recorder:
    """Stands in for a translator's method and for its sessions."""

    def __init__(self, method: Callable[[Task], Method], sessions: Sessions) -> None:
        self._method = method
        self._sessions = sessions
        self._seen: list[Seen] = []
        # The last pass, until the method gets its logits.
        self._passed: tuple[ModelRequest, Took] | None = None
        self._key = ""
        self._decodings: dict[str, Decoding] = {}

    def method(self, task: Task) -> Method:
        """Decode like the observed method."""
        self._seen, self._passed = [], None
        decoded = yield from observed(self._method(task), lambda _request, logits: self._see(task, logits))
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

    def _pass(self, request: ModelRequest, _logits: Logits, took: Took) -> None:
        self._passed = request, took

    def _see(self, task: Task, logits: Logits) -> None:
        if self._passed is None:  # it was an answer of the draft model, or none
            return
        (request, took), self._passed = self._passed, None
        ms = round(1000 * took.seconds, 3)
        output = list(request.tokens[len(task.prompt) :])
        if isinstance(request, BeamForward):
            rows = tuple(_row(row, None) for row in logits)
            self._seen.append(
                Seen(tuple(output), rows, took.evaluated, ms, reused=took.reused, paths=tuple(request.paths))
            )
            return
        first = request.logits_from + 1 - len(task.prompt)
        tree = request.tree if isinstance(request, TreeForward) else TokenTree()
        offered = _first_children(tree) if tree.size else _offered(output, first, task)
        rows = tuple(
            _row(row, offered[number] if number < len(offered) else None) for number, row in enumerate(logits)
        )
        known = tuple(output[:first])
        self._seen.append(Seen(known, rows, took.evaluated, ms, tree, took.reused, took.kept))


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


#: Probable tokens of a row that are remembered: as many as the widest search looks at.
_LIKELY = 32


def _row(row: Logits, offered: int | None) -> SeenRow:
    choice = int(row.argmax())
    weights = np.exp(row - row[choice])
    total = float(weights.sum())
    likely = np.argpartition(row, -_LIKELY)[-_LIKELY:] if len(row) > _LIKELY else np.arange(len(row))
    ps = {token: _probability(float(weights[token]), total) for token in likely.tolist()}
    p_offered = None if offered is None else _probability(float(weights[offered]), total)
    return SeenRow(LogitsRow(choice, _probability(1.0, total), offered, p_offered), ps)


def _probability(weight: float, total: float) -> float:
    """Four decimals; 0 if the logits are not numbers."""
    p = weight / total
    return round(min(1.0, p), 4) if p >= 0.0 else 0.0
