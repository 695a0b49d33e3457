"""The one contract that carries every decoding method.

A method is a generator. It asks for a forward pass with a `Forward` request and is sent the logits;
it never runs a pass itself. Whoever drives it may answer from a toy, from llama.cpp, or gather the
requests of many segments into one batch: the method cannot tell.
"""

from collections.abc import Container, Generator, Sequence
from enum import Enum
from time import perf_counter
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from operators.trouble import ModelTrouble, Trouble

#: Unnormalised log-probabilities, shape (positions, vocabulary). A view of the model's own buffer:
#: valid until the next request, and the method that receives it may overwrite it.
Logits = NDArray[np.float32]


class Forward(NamedTuple):
    """Hold exactly ``tokens``, and give the logits of positions ``logits_from`` to the last.

    The row of position i says what the model expects at position i + 1.
    """

    tokens: Sequence[int]
    logits_from: int


class Origin(Enum):
    """How a token of the output was come by."""

    #: A draft token that stands unseen, and one that was looked at and stood.
    COMMITTED = "committed"
    DRAFT = "draft"
    #: Proposed after the divergence and confirmed: from the rejected tail, from an earlier text, or from the
    #: model's own guess in the pass before.
    RECYCLED = "recycled"
    LOOKED_UP = "looked up"
    PARALLEL = "parallel"
    #: The model's own choice after all that was known.
    OWN = "own"


class Decoded(NamedTuple):
    """What a method returns: the output and how it came about."""

    #: Token ids of the output, the stop token not among them.
    tokens: tuple[int, ...]
    #: Draft tokens that were offered, and how many of them stood.
    drafted: int = 0
    accepted: int = 0
    #: Tokens that were proposed after the divergence, and how many of them stood.
    proposed: int = 0
    taken: int = 0
    #: How each token of the output was come by.
    origins: tuple[Origin, ...] = ()
    #: Why the output was cut before the model ended it; None where it ended it itself.
    cut: Trouble | None = None
    #: Logit gap between the best token and the next for each token up to ``accepted``; 0 where the draft
    #: was not the best token or was not looked at, and everywhere unless the task asked for it.
    gaps: tuple[float, ...] = ()


Method = Generator[Forward, Logits, Decoded]


class Task(NamedTuple):
    """One translation to make: everything that a method may look at."""

    #: Token ids of the whole prompt; at least one.
    prompt: Sequence[int]
    #: Token ids of the previous translation; empty at the first update of a segment.
    draft: Sequence[int]
    #: Token ids that end the output.
    stop: Container[int]
    #: Tokens that the output may have at most.
    limit: int
    #: Draft tokens, from the first on, that stand without being looked at.
    committed: int = 0
    #: Whether to measure by how much draft tokens stood.
    want_gaps: bool = False
    #: True for the last update of a segment.
    is_final: bool = False
    #: Token ids of the source, and of outputs that ended lately: where names and terms may be found again.
    source: Sequence[int] = ()
    recent: Sequence[Sequence[int]] = ()


class Session(Protocol):
    """Something that holds one sequence of tokens and answers requests about it."""

    #: Tokens of the last request that did not have to be evaluated again.
    reused: int

    def forward(self, request: Forward) -> Logits:
        """Answer one request; the shape is (len(tokens) - logits_from, vocabulary)."""
        ...


class Cost(NamedTuple):
    """What a drive took."""

    passes: int
    #: Tokens of the first request that were in the cache.
    reused: int
    #: Tokens that all passes together evaluated.
    evaluated: int
    #: Seconds in forward passes, and in the first of them.
    model_s: float
    first_s: float


def best_tokens(rows: Logits) -> list[int]:
    """The most likely token of each row.

    Raises `ModelTrouble` where there is none. Only the best logits are looked at: NumPy's argmax is the place
    of a NaN where there is one, else of an infinity, so that a row with either has no finite best.
    """
    best = rows.argmax(axis=1)
    if not np.isfinite(rows[np.arange(len(rows)), best]).all():
        raise ModelTrouble(Trouble.NOT_A_NUMBER, "among the logits are some that are not finite")
    tokens: list[int] = best.tolist()
    return tokens


def drive(method: Method, session: Session) -> tuple[Decoded, Cost]:
    """Answer the method's requests from one session until it returns."""
    passes, reused, evaluated, model_s, first_s = 0, 0, 0, 0.0, 0.0
    try:
        request = next(method)
        while True:
            began = perf_counter()
            logits = session.forward(request)
            model_s += perf_counter() - began
            if passes == 0:
                reused, first_s = session.reused, model_s
            evaluated += len(request.tokens) - session.reused
            passes += 1
            request = method.send(logits)
    except StopIteration as end:
        decoded: Decoded = end.value
        return decoded, Cost(passes, reused, evaluated, model_s, first_s)
