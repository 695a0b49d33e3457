"""How probable the model holds each token of its output to be, seen from outside while it is decoded."""

from collections.abc import Sequence

import numpy as np

from operators.decoding.forward import Forward, Logits, Session

#: Rows at the end of a pass that are looked at: a softmax over the vocabulary takes 0.1 ms.
_ROWS = 6


class Certainty:
    """A `Session` that stands before another one and keeps the probabilities of what it answers.

    Only those near the end of each pass are kept, which is where an unfinished text is doubtful.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        #: Tokens of the last request that did not have to be evaluated again.
        self.reused = 0
        # By the place that a row judges: probabilities of its best token and of the one that was proposed.
        self._seen: dict[int, dict[int, float]] = {}

    def forward(self, request: Forward) -> Logits:
        """Answer ``request``, and remember what the rows say."""
        rows = self._session.forward(request)
        self.reused = self._session.reused
        first = max(0, len(rows) - _ROWS)
        for number, row in enumerate(rows[first:], start=request.logits_from + first + 1):
            self._seen[number] = _probabilities(row, request.tokens[number : number + 1])
        return rows

    def of(self, prompt: int, output: Sequence[int]) -> list[float]:
        """The probability of each token of ``output``; 1 where none was kept.

        ``prompt`` is how many tokens came before the output.
        """
        return [self._seen.get(prompt + place, {}).get(token, 1.0) for place, token in enumerate(output)]


def _probabilities(row: Logits, asked: Sequence[int]) -> dict[int, float]:
    best = int(row.argmax())
    share = 1.0 / float(np.exp(row - row[best]).sum())
    return {token: share * float(np.exp(row[token] - row[best])) for token in (best, *asked)}
