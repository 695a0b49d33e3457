"""What only windows of speech need that grow: how probable each token is, and where an output may end.

Greedy decoding with a draft meets passes that are not batch-invariant. A pass over many tokens gives slightly
different logits than passes over one token each: if activations are quantised together with the rest of the
batch, even the draft's rejected end changes the rows before it. A draft verified in one pass therefore equals
greedy decoding's output only up to near ties. Here an output is accepted if every decision in it was clearer
than that noise; otherwise it is decoded from scratch (`certain`).

Unfinished windows end with the first new doubtful token, because more would be a guess based on a guess:
the rest is decoded at the next update, which has more input (`until_doubtful`). A recogniser ends each of
them with a full stop, and does so again a few words later. Drafting the last output's last token after each
new word saves the pass in which the model would output it: the row after it already says that the output
ends (`Closing`).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from operators.decoding.blockwise import decode
from operators.decoding.drafts import Draft, Drafting, Verified, at_once
from operators.decoding.forward import Decoded, Forward, Logits, Method, Origin, Session, Task
from operators.decoding.greedy import retranslate


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


class Doubt(NamedTuple):
    """Where an output may end early."""

    #: A less probable token ends the output.
    least: float
    #: Place of the first token that may be the last one; earlier ones never end the output.
    begin: int
    #: Whether a token can be doubtful; punctuation says nothing about the audio.
    counts: Callable[[int], bool]


def until_doubtful(
    method: Method, task: Task, doubt: Doubt, probability: Callable[[int, int], float]
) -> Method:
    """Run ``method``, made for ``task``, to its end, or up to and including its first doubtful token.

    Args:
        probability: Gives the probability of a token at a place of prompt and output that a pass has judged.
    """
    begin = len(task.prompt)
    try:
        request = next(method)
        while True:
            rows = yield request
            request = method.send(rows)
            # Requests after the first pass begin after the model's own last token.
            if isinstance(request, Forward):
                output = request.tokens[begin : request.logits_from + 1]
                place = len(output) - 1
                may_end = place >= doubt.begin and doubt.counts(output[place])
                if may_end and probability(begin + place, output[place]) < doubt.least:
                    method.close()
                    return Decoded(tuple(output), is_whole=False)
    except StopIteration as end:
        decoded: Decoded = end.value
        return decoded


class Closing:
    """Drafts the last token of the last output, unless the model has just output it."""

    def __init__(self, task: Task) -> None:
        self._last = tuple(task.draft[-1:])

    def learn(self, verified: Verified) -> None:
        """Nothing is remembered."""

    def draft(self, output: Sequence[int]) -> Drafting:
        """The last token of the last output."""
        is_said = not output or tuple(output[-1:]) == self._last
        return at_once(None if is_said else Draft(self._last, Origin.RECYCLED))


def certain(task: Task, margin: float) -> Method:
    """Verify ``task.draft`` against greedy decoding and continue from the first divergence.

    ``margin`` is the noise of a pass: the smallest gap between the logits of the best token and the next one
    at which a decision is certain. The prompt is evaluated separately from the draft, as in greedy decoding.
    """
    drafter = _Apart(task)
    decoded = yield from decode(task, drafter)
    if drafter.least < margin:
        decoded = yield from retranslate(task)
    return decoded._replace(drafted=len(task.draft[: task.limit]))


class _Apart:
    """Drafts the last output after its first token, once, and records how close later decisions were."""

    def __init__(self, task: Task) -> None:
        self._draft = tuple(task.draft[: task.limit])
        self._is_used = False
        self.least = np.inf

    def learn(self, verified: Verified) -> None:
        """Look at the rows of the accepted tokens, and of the model's own next token."""
        if self._is_used:
            self.least = min(self.least, *gaps_to_next(verified.rows[: verified.accepted_length + 1]))

    def draft(self, output: Sequence[int]) -> Drafting:
        """The rest of the last output, if the model itself started in the same way."""
        if self._is_used or tuple(output) != self._draft[:1] or len(self._draft) < 2:
            return at_once(None)
        self._is_used = True
        return at_once(Draft(self._draft[1:], Origin.DRAFT))


def gaps_to_next(rows: Logits) -> list[float]:
    """The gap between the best logit of each row and the next best; ``rows`` has shape (n, vocabulary)."""
    top = np.partition(rows, -2, axis=1)[:, -2:]
    gaps: list[float] = (top[:, 1] - top[:, 0]).tolist()
    return gaps
