"""Compares two computations of the same rows: noise of the kernels may decide near ties, and nothing else."""

from collections.abc import Sequence

import numpy as np

from operators.decoding.forward import Forward, Logits, Session

#: Quantised kernels are not batch-invariant, and another processor has others. Below this gap between the two
#: best logits the best token may differ from one way of batching to another.
NOISE = 1.5


def agree(got: Logits, want: Logits) -> bool:
    """Whether rows have the same best tokens wherever these are clear, and are close on average."""
    top = np.sort(want, axis=1)
    clear = top[:, -1] - top[:, -2] > NOISE
    is_same = (got.argmax(axis=1) == want.argmax(axis=1))[clear].all()
    finite = np.isfinite(want)
    return bool(is_same) and float(np.abs(got[finite] - want[finite]).mean()) < 0.25 * float(
        want[finite].std()
    )


def gap_where_they_part(
    session: Session, prompt: Sequence[int], left: Sequence[int], right: Sequence[int]
) -> float:
    """The margin of the best token where two outputs diverge; 0 if they do not."""
    if tuple(left) == tuple(right):
        return 0.0
    places = enumerate(zip(left, right, strict=False))
    same = next((place for place, (a, b) in places if a != b), min(len(left), len(right)))
    tokens = [*prompt, *left[:same]]
    best = np.sort(session.forward(Forward(tokens, len(tokens) - 1))[-1])[-2:]
    return float(best[1] - best[0])
