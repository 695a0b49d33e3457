"""A session that runs each pass once: it remembers what a model predicts after given tokens.

For comparing methods on one text: all of them meet the same model, unaffected by rounding that depends on the
size of a pass, and most of their passes cost nothing. Tokens are counted as if each pass had been run.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from operators.decoding.drive import NO_ROWS
from operators.decoding.forward import Forward, Logits, Session, TreeForward
from operators.decoding.tree import TokenTree

#: The most probable tokens of a row that are remembered one by one.
_MAX_KEPT = 8


class Memory:
    """What one model predicts after each output for one prompt."""

    def __init__(self, session: Session, prompt: Sequence[int]) -> None:
        """``session`` answers what is not known yet; it need not support trees."""
        self._session = session
        self.prompt = list(prompt)
        self._rows: dict[tuple[int, ...], _Row] = {}

    def rows(self, outputs: Sequence[tuple[int, ...]]) -> Logits:
        """The row after each of ``outputs``."""
        for output in sorted(outputs, key=len, reverse=True):
            if output not in self._rows:
                self._ask(output)
        return np.stack([self._rows[output].dense() for output in outputs])

    def _ask(self, output: tuple[int, ...]) -> None:
        """Evaluate the outputs up to this one, starting with the first unknown one."""
        first = next(length for length in range(len(output) + 1) if output[:length] not in self._rows)
        rows = self._session.forward(Forward([*self.prompt, *output], len(self.prompt) - 1 + first))
        for number, row in enumerate(rows):
            self._rows.setdefault(output[: first + number], _Row(row))


class _Row:
    """A compact row of logits: the best tokens, and the total probability of all others."""

    def __init__(self, row: NDArray[np.float32]) -> None:
        self._size = len(row)
        kept = min(_MAX_KEPT, len(row))
        self._tokens = np.argpartition(row, -kept)[-kept:]
        logits = row - row.max()
        total = np.log(np.exp(logits).sum(dtype=np.float64))
        self._logits = (logits[self._tokens] - total).astype(np.float32)
        # The rest is distributed among the others, none of which is more probable than those that are kept.
        rest = max(0.0, 1.0 - float(np.exp(self._logits.astype(np.float64)).sum()))
        share = np.log(max(rest, 1e-12) / max(1, len(row) - kept))
        self._other = min(float(share), float(self._logits.min()) - 1e-3)

    def dense(self) -> NDArray[np.float32]:
        """The row again: log-probabilities, the best ones exact."""
        row = np.full(self._size, self._other, np.float32)
        row[self._tokens] = self._logits
        return row


class Remembered:
    """Answers requests from a `Memory`, like a session that starts with the prompt in its cache."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        # The outputs that the cache of such a session would hold.
        self._held: set[tuple[int, ...]] = set()
        self.reused = self.kept = 0

    def forward(self, request: Forward) -> Logits:
        """Answer one request."""
        return self._answer(request.tokens, TokenTree(), request.logits_from)

    def forward_tree(self, request: TreeForward) -> Logits:
        """Answer one request for a tree, in full."""
        return self._answer(request.tokens, request.tree, request.logits_from)

    def _answer(self, tokens: Sequence[int], tree: TokenTree, logits_from: int) -> Logits:
        begin = len(self._memory.prompt)
        if list(tokens[:begin]) != self._memory.prompt:
            raise ValueError("this session remembers what was said to another prompt")
        outputs = [tuple(tokens[begin:end]) for end in range(begin, len(tokens) + 1)]
        for node, parent in enumerate(tree.parents):
            before = outputs[len(tokens) - begin + 1 + parent]
            outputs.append((*before, tree.tokens[node]))
        # The first output is empty: the prompt alone, whose last token has position begin - 1.
        there = (number for number, one in enumerate(outputs[1:]) if one not in self._held)
        known = next(there, len(outputs) - 1)
        self.reused = min(begin + known, logits_from)
        self._held = set(outputs)
        wanted = outputs[logits_from - begin + 1 :]
        return self._memory.rows(wanted) if wanted else NO_ROWS
