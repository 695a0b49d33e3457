"""What a draft model predicts: one token after the other, how sure it is, and how far it should go on."""

from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """How a second model drafts (SpecASR, Wei et al. 2025, section IV). The defaults are the authors' own."""

    #: Tokens that are drafted at a time, at most.
    length: int = 24
    #: A prediction ends with the first token that is less probable (adaptive single-sequence prediction,
    #: IV-A): its step is done, and to verify it too costs little. At 0 a prediction always has its full
    #: length, as in plain speculative decoding.
    threshold: float = 0.4
    #: Whether the rejected rest of a draft is used again where a new one meets it (draft recycling, IV-B).
    recycles: bool = True
    #: Improbable tokens at which the second most probable one is tried as well (two-pass sparse tree, IV-C).
    #: The prediction then ends with the next improbable one. 0 is a single sequence.
    branches: int = 0
    #: Tokens that a branch has at most before it must have met the trunk, or ends.
    reach: int = 3
    #: Nodes that a tree has at most.
    nodes: int = 64


class Step(NamedTuple):
    """One predicted token."""

    token: int
    #: Its probability: SpecASR's normalised logit.
    p: float = 1.0
    #: The second most probable token; None where there is none to be trusted.
    second: int | None = None
    p_second: float = 0.0


def predicted(row: NDArray[np.float32]) -> Step | None:
    """The most probable token of a row of logits.

    None where they are no finite numbers. Overwrites the row.
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
