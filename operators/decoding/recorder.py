"""Observes a translator: its method's tasks and results, and every pass that its sessions answer.

The methods and the translator are unchanged. Logits are recorded as the method gets them, for instance with a
lean towards terms. The cost of observing is not part of a pass's time.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from operators.decoding.decided import Seen, decoding
from operators.decoding.decoder import Sessions
from operators.decoding.forward import (
    Decoded,
    Forward,
    Logits,
    Method,
    Session,
    Task,
    TreeForward,
)
from operators.decoding.trace import Decoding, LogitsRow
from operators.decoding.tree import TokenTree
from operators.decoding.watched import Took, watched


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
