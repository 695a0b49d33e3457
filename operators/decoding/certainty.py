"""How probable the model holds each token of its output to be, seen from outside while it is decoded."""

from collections.abc import Iterable, Sequence

import numpy as np

from operators.decoding.forward import Forward, Logits, Session

#: Rows at the end of a pass that are looked at: a softmax over the vocabulary takes 0.1 ms.
_ROWS = 6


class Certainty:
    """A `Session` that stands before another one and keeps the probabilities of what it answers.

    Only those near the end of each pass are kept, and those of tokens that the model would not have chosen:
    there an unfinished text is doubtful.
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
        best = rows.argmax(axis=1)
        for number, row in enumerate(rows):
            place = request.logits_from + number + 1
            asked = request.tokens[place : place + 1]
            if number >= len(rows) - _ROWS or int(best[number]) not in asked:
                self._seen[place] = _probabilities(row, {int(best[number]), *asked})
        return rows

    def of(self, prompt: int, output: Sequence[int]) -> list[float]:
        """The probability of each token of ``output``; 1 where none was kept.

        ``prompt`` is how many tokens came before the output.
        """
        return [self._seen.get(prompt + place, {}).get(token, 1.0) for place, token in enumerate(output)]


def _probabilities(row: Logits, tokens: Iterable[int]) -> dict[int, float]:
    top = row.max()
    total = float(np.exp(row - top).sum())
    return {token: float(np.exp(row[token] - top)) / total for token in tokens}
