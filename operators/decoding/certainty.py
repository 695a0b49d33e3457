"""How probable the model holds the last tokens of its output to be, seen from outside while it is decoded."""

from collections.abc import Sequence

import numpy as np

from operators.decoding.forward import Forward, Logits, Session


class Certainty:
    """A `Session` that stands before another one and keeps what it answers, for one task."""

    def __init__(self, session: Session) -> None:
        self._session = session
        #: Tokens of the last request that did not have to be evaluated again.
        self.reused = 0
        # The row that judges each place; a later pass knows better.
        self._rows: dict[int, Logits] = {}

    def forward(self, request: Forward) -> Logits:
        """Answer ``request``, and keep the rows: the next pass may overwrite them."""
        rows = self._session.forward(request)
        self.reused = self._session.reused
        self._rows.update(enumerate(rows.copy(), start=request.logits_from + 1))
        return rows

    def of(self, prompt: int, output: Sequence[int], last: int) -> list[float]:
        """The probability of each of the ``last`` tokens of ``output``; 1 for those before them.

        ``prompt`` is how many tokens came before the output.
        """
        begin = max(0, len(output) - last)
        return [1.0] * begin + [
            _probability(self._rows[prompt + place], output[place]) for place in range(begin, len(output))
        ]


def _probability(row: Logits, token: int) -> float:
    top = row.max()
    return float(np.exp(row[token] - top) / np.exp(row - top).sum())
