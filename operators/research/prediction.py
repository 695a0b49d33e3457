"""What a draft model predicts: one token after another, with its probability, and how far to continue."""

from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from operators.decoding.tree import MAX_NODES


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """How a draft model drafts (SpecASR, Wei et al. 2025, section IV). The defaults are the authors' own."""

    #: Maximum number of tokens drafted at a time.
    length: int = 24
    #: A prediction ends with the first less probable token (adaptive single-sequence prediction, IV-A), which
    #: is included because its step is done and verifying it costs little. At 0 a prediction always has its
    #: full length, as in plain speculative decoding.
    threshold: float = 0.4
    #: Whether the rejected rest of a draft is reused where a new one meets it (draft recycling, IV-B).
    recycles: bool = True
    #: Number of improbable tokens at which the second most probable one is tried too (two-pass sparse tree,
    #: IV-C). The prediction ends with the next improbable one. 0 is a single sequence.
    branches: int = 0
    #: A branch that has not met the trunk after this many tokens ends.
    reach: int = 3
    #: Maximum number of nodes in a tree.
    nodes: int = MAX_NODES


class Step(NamedTuple):
    """One predicted token."""

    token: int
    #: Its probability: SpecASR's normalised logit.
    p: float = 1.0
    #: The second most probable token; None if it cannot be trusted.
    second: int | None = None
    p_second: float = 0.0


def predicted(row: NDArray[np.float32]) -> Step | None:
    """The most probable token of a row of logits.

    None if the logits are not finite. Overwrites the row.
    """
    best = int(row.argmax())
    top = float(row[best])
    if not np.isfinite(top):
        return None
    total = float(np.exp(row - top).sum())
    row[best] = -np.inf
    second = int(row.argmax())
    p_second = float(np.exp(row[second] - top)) / total
    return Step(best, 1.0 / total, second if p_second > 0.0 else None, p_second)
