"""Proposal heads: predict the tokens after the next one, from the same hidden state of the model.

Blockwise parallel decoding (Stern et al. 2018, sections 3 and 4): head i is one hidden layer with a residual
connection on the model's last hidden state, and shares the model's output matrix. It predicts the token i
places after the model's own next one. The pass that verifies a block gives the state for the next block, so
prediction costs no pass.

The state itself is not requested. Logits are the output matrix times the state, and the matrix has many more
rows than the state has numbers. So least squares recover the state from the logits of any session, as exactly
as the logits were computed. llama.cpp could return the state (`llama_set_embeddings`), but would then compute
the logits of every token of a pass, which are most of a token's cost.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from operators.decoding.acceptance import EXACT, Acceptance
from operators.decoding.drafts import Draft, Drafting, Verified, at_once
from operators.decoding.forward import Origin
from operators.decoding.pass_cost import BlockLength
from operators.decoding.recycling import Continuation
from operators.text import common_prefix

Matrix = NDArray[np.float32]

#: Number of logits from which a state is solved. With 700 of 65,536 the result was the same as with 8,192.
EQUATIONS = 2048
#: Eigenvalues of the output matrix's Gram matrix below this share of the largest count as zero.
_NOTHING = 1e-10


class Head(NamedTuple):
    """One head: the state x becomes x + outer · silu(inner · x)."""

    #: Hidden units × width of the state.
    inner: Matrix
    #: Width × hidden units.
    outer: Matrix


class OutputRows(NamedTuple):
    """The part of a model's output layer for some tokens: their logits are matrix @ state + bias."""

    #: The ids of the tokens.
    tokens: NDArray[np.int32]
    #: Tokens × width.
    matrix: Matrix
    #: One number for each token; 0 in most models.
    bias: NDArray[np.float32]

    def first(self, count: int) -> "OutputRows":
        return OutputRows(self.tokens[:count], self.matrix[:count], self.bias[:count])


def without_bias(tokens: NDArray[np.int32], matrix: Matrix) -> OutputRows:
    return OutputRows(tokens, matrix, np.zeros(len(tokens), np.float32))


class StateSolver:
    """Solves for the hidden states, after the output norm, from which rows of logits were computed."""

    def __init__(self, rows: OutputRows) -> None:
        """Uses the logits of ``rows``.

        If they do not span the whole state, the rest of it is assumed to be 0.
        """
        self._tokens, self._bias = rows.tokens, rows.bias
        known = rows.matrix.astype(np.float64)
        inverse = np.linalg.pinv(known.T @ known, rcond=_NOTHING, hermitian=True)
        self._solve: Matrix = (known @ inverse).astype(np.float32)

    def seen(self, rows: Matrix) -> Matrix:
        """A copy of the logits that it needs."""
        return rows[..., self._tokens]

    def states(self, seen: Matrix) -> Matrix:
        """The states, (rows, width) or a single one, from the logits of `seen`."""
        unbiased: Matrix = seen - self._bias
        states: Matrix = unbiased @ self._solve
        return states


class Heads:
    """Heads for one model, with the rows of its output matrix among which they choose."""

    def __init__(self, heads: Sequence[Head], rows: OutputRows) -> None:
        """The first head predicts the token after the model's own next one, the second the token after that.

        Args:
            heads: one or more.
            rows: the rows of the tokens that they can predict, the most frequent ones first.
        """
        self._heads = tuple(heads)
        self._rows = rows
        self.solver = StateSolver(rows.first(EQUATIONS))

    def __len__(self) -> int:
        return len(self._heads)

    def first(self, count: int) -> Self:
        return type(self)(self._heads[:count], self._rows)

    def after(self, state: Matrix) -> Continuation:
        """The tokens after the one that the model chooses from a state.

        Each probability is the head's own, whatever the tokens before. Empty if the state is not finite.
        """
        if not np.isfinite(state).all():
            return Continuation()
        states = np.stack([_through(head, state) for head in self._heads])
        logits = states @ self._rows.matrix.T + self._rows.bias
        best = logits.argmax(axis=1)
        top = logits[np.arange(len(best)), best]
        sure = 1.0 / np.exp(logits - top[:, None]).sum(axis=1)
        return Continuation(self._rows.tokens[best].tolist(), sure.tolist())


def _through(head: Head, state: Matrix) -> Matrix:
    hidden = head.inner @ state
    # silu, by a function that never overflows: the sigmoid is (1 + tanh(z / 2)) / 2.
    hidden *= 0.5 * (1.0 + np.tanh(0.5 * hidden))
    out: Matrix = state + head.outer @ hidden
    return out


class HeadProposals:
    """Drafts the heads' predictions after the model's own last token, as far as they are worth the pass."""

    def __init__(self, heads: Heads, length: BlockLength, acceptance: Acceptance = EXACT) -> None:
        self._heads = heads
        self._length = length
        self._acceptance = acceptance
        # If even certain tokens are not worth the pass, no head is used.
        self._is_idle = length.of([1.0] * len(heads)) == 0
        self._seen: Matrix | None = None

    def learn(self, verified: Verified) -> None:
        """Keep the row of the model's own token, whichever drafter proposed the tokens before it."""
        is_usable = verified.own is not None and not self._is_idle
        self._seen = self._heads.solver.seen(verified.rows[verified.last]) if is_usable else None

    def draft(self, output: Sequence[int]) -> Drafting:  # noqa: ARG002 - the state is sufficient
        if self._seen is None:
            return at_once(None)
        said = self._heads.after(self._heads.solver.states(self._seen))
        tokens = said.tokens[: self._length.of(said.sure)]
        draft = Draft(tuple(tokens), Origin.PARALLEL, self._acceptance)
        return at_once(draft if tokens else None)


def passes(answer: Sequence[int], proposed: Sequence[Sequence[int]]) -> int:
    """The number of passes of blockwise decoding for an answer; greedy decoding needs one per token.

    Args:
        answer: its tokens, including the one that ends it.
        proposed: for each of these, the tokens proposed to follow it.
    """
    place, count = 0, 1
    while place < len(answer) - 1:
        # The token that ends the answer is not part of a draft, because the row before it decides it.
        place += 1 + common_prefix(list(proposed[place]), list(answer[place + 1 : -1]))
        count += 1
    return count


def mean_block(
    answers: Sequence[Sequence[int]], proposed: Sequence[Sequence[Sequence[int]]], heads: int
) -> float:
    """Tokens per pass with the first ``heads`` proposals of each place, over all answers.

    It is the mean accepted block size of Stern et al. With exact acceptance the answer does not depend on the
    proposals, so blocks can be counted on existing answers without a pass of the model.

    The pass over the prompt counts, although it verifies nothing; greedy decoding has 1.
    """
    counts = [
        passes(answer, [place[:heads] for place in places])
        for answer, places in zip(answers, proposed, strict=True)
    ]
    return sum(map(len, answers)) / max(1, sum(counts))
