"""Records the tasks and results of a translator's method, and every pass that its sessions answer.

The methods and the translator are unchanged. Logits are recorded as the method gets them, for instance with a
bias towards terms.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import NamedTuple

import numpy as np

from operators.decoding.adjustment import outputs
from operators.decoding.drive import Sessions
from operators.decoding.forward import (
    AskDraftModel,
    BeamForward,
    DecodingResult,
    Forward,
    Logits,
    Method,
    ModelRequest,
    Origin,
    Session,
    Task,
    TreeForward,
)
from operators.decoding.trace import Decoding, LogitsRow, Pass, Token
from operators.decoding.tree import ROOT

#: Number of probable tokens recorded per row: as many as the widest search uses.
_LIKELY = 32


class _Row(NamedTuple):
    #: The output before it, and the draft tokens offered after that.
    output: tuple[int, ...]
    offered: tuple[int, ...]
    choice: int
    #: The probabilities of the offered tokens, the choice and other probable tokens.
    p: Mapping[int, float]

    def decided(self, token: int | None, *, ends: bool) -> LogitsRow:
        """The row, with the ``token`` that was decided there; None if it decided nothing."""
        offered = token if token in self.offered else next(iter(self.offered), None)
        p_offered = None if offered is None else self.p[offered]
        p_token = None if token is None else self.p.get(token)
        return LogitsRow(self.choice, self.p[self.choice], offered, p_offered, token, p_token, ends)


def _row(logits: Logits, output: tuple[int, ...], offered: tuple[int, ...]) -> _Row:
    choice = int(logits.argmax())
    weights = np.exp(logits - logits[choice])
    likely = np.argpartition(logits, -_LIKELY)[-_LIKELY:] if len(logits) > _LIKELY else range(len(logits))
    tokens = [choice, *offered, *map(int, likely)]
    # Logits may be NaN.
    shares = np.nan_to_num(weights[tokens] / weights.sum()).astype(float).round(4)
    return _Row(output, offered, choice, dict(zip(tokens, shares.tolist(), strict=True)))


class _Pass(NamedTuple):
    """A pass as it was observed; the tokens that it decided are known only later."""

    rows: tuple[_Row, ...]
    #: Whether the rows follow each other.
    is_chain: bool
    evaluated: int
    ms: float
    reused: int
    kept: int


def _offered(request: ModelRequest, task: Task) -> dict[int, tuple[int, ...]]:
    """The offered tokens, by the number of the row that verifies them."""
    if isinstance(request, BeamForward):
        return {}
    tokens, first = list(request.tokens), request.logits_from
    offered: dict[int, tuple[int, ...]] = {n: (token,) for n, token in enumerate(tokens[first + 1 :])}
    end = len(tokens) - 1 - first
    if isinstance(request, TreeForward):
        for token, parent in zip(request.tree.tokens, request.tree.parents, strict=True):
            number = end + (parent - ROOT)
            offered[number] = (*offered.get(number, ()), token)
        return offered
    # The last row of a block of the draft also verifies the token after it.
    draft, output = list(task.draft[: task.limit]), tokens[len(task.prompt) :]
    if first + 1 - len(task.prompt) < len(output) < len(draft) and output == draft[: len(output)]:
        offered[end] = (draft[len(output)],)
    return offered


def decoding(task: Task, passes: Sequence[_Pass], decoded: DecodingResult) -> Decoding:
    """The record of a method's work on a task, from the observed passes and its result.

    A place was decided by the last row that followed exactly the output tokens before it. Passes of an
    abandoned search, and of a draft that was verified again, decided nothing.
    """
    output, finished = decoded.tokens, decoded.cut is None
    deciding: dict[int, _Row] = {}
    numbers: dict[int, int] = {}
    for number, one in enumerate(passes, 1):
        for row in one.rows:
            place = len(row.output)
            is_end = place == len(output) and finished and row.choice in task.stop
            if row.output == output[:place] and (place < len(output) or is_end):
                deciding[place], numbers[place] = row, number
    tokens = []
    for place, (token, origin) in enumerate(zip(output, decoded.origins, strict=True)):
        p = deciding[place].p.get(token) if place in deciding else None
        tokens.append(Token(token, origin, numbers.get(place, 0), p))
    return Decoding(
        prompt_tokens=len(task.prompt),
        draft=tuple(task.draft),
        committed=task.committed,
        output=tuple(tokens),
        finished=finished,
        passes=tuple(_decided(one, output, deciding) for one in passes),
    )


def _decided(one: _Pass, output: Sequence[int], deciding: Mapping[int, _Row]) -> Pass:
    """A pass with the rows of the path that the output took, and those after a rejected token."""
    rows: list[LogitsRow] = []
    begin = len(output)
    for row in one.rows:
        place = len(row.output)
        if deciding.get(place) is row:
            begin = min(begin, place)
            is_end = place == len(output)
            rows.append(row.decided(None if is_end else output[place], ends=is_end))
        elif one.is_chain and rows:
            rows.append(row.decided(None, ends=False))
    return Pass(begin, tuple(rows), one.evaluated, one.ms, one.reused, one.kept)


def unchanged(output: Sequence[int]) -> Decoding:
    """A window whose source had not changed: its output is kept without a check."""
    tokens = tuple(Token(token, Origin.COMMITTED, 0, None) for token in output)
    return Decoding(0, tuple(output), len(output), tokens, finished=True, passes=())


class Recorder:
    """Wraps a translator's method and its sessions."""

    def __init__(self, method: Callable[[Task], Method], sessions: Sessions) -> None:
        self._method = method
        self._sessions = sessions
        # The session that was lent last, and its key.
        self._key = ""
        self._session: Session | None = None
        self._decodings: dict[str, Decoding] = {}

    def method(self, task: Task) -> Method:
        method, passes = self._method(task), list[_Pass]()
        try:
            request = next(method)
            while True:
                began = perf_counter()
                logits = yield request
                if len(logits) and not isinstance(request, AskDraftModel):
                    passes.append(self._pass(task, request, logits, perf_counter() - began))
                request = method.send(logits)
        except StopIteration as end:
            decoded: DecodingResult = end.value
        self._decodings[self._key] = decoding(task, passes, decoded)
        return decoded

    @contextmanager
    def session(self, key: str) -> Iterator[Session]:
        with self._sessions.session(key) as session:
            self._key, self._session = key, session
            yield session

    def release(self, key: str) -> None:
        self._sessions.release(key)

    def take(self) -> dict[str, Decoding]:
        """The decodings since the last call, by the session's key."""
        taken, self._decodings = self._decodings, {}
        return taken

    def _pass(self, task: Task, request: ModelRequest, logits: Logits, seconds: float) -> _Pass:
        assert self._session is not None, "a pass is answered from a session that was lent"
        reused, kept = self._session.reused, self._session.kept
        before, offered = outputs(request, len(task.prompt)), _offered(request, task)
        rows = tuple(
            _row(row, output or (), offered.get(number, ()))
            for number, (row, output) in enumerate(zip(logits, before, strict=False))
        )
        evaluated = request.logits_from + len(logits) - reused
        ms = round(1000 * seconds, 3)
        return _Pass(rows, isinstance(request, Forward), evaluated, ms, reused, kept)
