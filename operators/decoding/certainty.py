"""The probability that the model gives to each token of its output, observed while it is decoded."""

import numpy as np

from operators.decoding.forward import Forward, Logits, Session


class Certainty:
    """A `Session` that wraps another one and keeps its answers, for one task."""

    def __init__(self, session: Session) -> None:
        self._session = session
        #: Tokens of the last request that were already in the cache.
        self.reused = self.kept = 0
        # The row that judges each place; a later pass replaces it.
        self._rows: dict[int, Logits] = {}

    def forward(self, request: Forward) -> Logits:
        """Answer ``request``, and keep the rows: the next pass may overwrite them."""
        rows = self._session.forward(request)
        self.reused, self.kept = self._session.reused, self._session.kept
        self._rows.update(enumerate(rows.copy(), start=request.logits_from + 1))
        return rows

    def of(self, place: int, token: int) -> float:
        """The probability of ``token`` at a place of the prompt and output; a softmax takes 0.1 ms."""
        row = self._rows[place]
        top = row.max()
        return float(np.exp(row[token] - top) / np.exp(row - top).sum())
