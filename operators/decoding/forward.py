"""The one contract that carries every decoding method.

A method is a generator. It asks for a forward pass with a `Forward` request and is sent the logits;
it never runs a pass itself. Whoever drives it may answer from a toy, from llama.cpp, or gather the
requests of many segments into one batch: the method cannot tell. Two kinds of request need more than every
session can do: a `TreeForward`, of which less may be answered than was asked, and an `AskDraftModel`.
"""

from collections.abc import Container, Generator, Sequence
from enum import Enum
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from operators.decoding.tree import TokenTree
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


class TreeForward(NamedTuple):
    """Hold ``tokens`` and after them the nodes of ``tree``, each of which sees those on its own path alone.

    The answer has a row for each token and then each node from position ``logits_from`` on, where node i has
    position len(tokens) + i. Nodes at the end may be left out: then there are fewer rows, perhaps none. A
    session that knows no trees is asked for the trunk.
    """

    tokens: Sequence[int]
    tree: TokenTree
    logits_from: int


class AskDraftModel(NamedTuple):
    """A request to the second model.

    A pass of it that fails has no rows: that costs its drafts, no output.
    """

    request: Forward | TreeForward


Request = Forward | TreeForward | AskDraftModel


class Origin(Enum):
    """Where a token of the output comes from."""

    #: A token of the last output that stands unseen, and one that was looked at and stood.
    COMMITTED = "committed"
    DRAFT = "draft"
    #: Drafted and confirmed: from the rejected rest of a draft or another branch of it, from an earlier text,
    #: from the model's own guess in the pass before, or from a step of a second model.
    RECYCLED = "recycled"
    LOOKED_UP = "looked up"
    PARALLEL = "parallel"
    MODEL = "model"
    #: The model's own choice after all that was known.
    OWN = "own"


class Decoded(NamedTuple):
    """What a method returns: the output and how it came about."""

    #: Token ids of the output, the stop token not among them.
    tokens: tuple[int, ...]
    #: Tokens of the last output, and how many of them stood.
    drafted: int = 0
    accepted: int = 0
    #: Tokens that were drafted in other ways, and how many of them stood.
    proposed: int = 0
    taken: int = 0
    #: How each token of the output was come by.
    origins: tuple[Origin, ...] = ()
    #: Whether it goes to the end; False where a doubtful token ended it early.
    is_whole: bool = True
    #: Why the output was cut before the model ended it; None where it ended it itself.
    cut: Trouble | None = None
    #: Logit gap between the best token and the next for each token up to ``accepted``; 0 where the draft
    #: was not the best token or was not looked at, and everywhere unless the task asked for it.
    gaps: tuple[float, ...] = ()


Method = Generator[Request, Logits, Decoded]


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


def output_limit(source_tokens: int) -> int:
    """Tokens that the translation of so long a source may have at most: a model may not find an end."""
    return 2 * source_tokens + 24


class Session(Protocol):
    """Something that holds one sequence of tokens and answers requests about it."""

    #: Tokens of the last request that did not have to be evaluated again.
    reused: int

    def forward(self, request: Forward) -> Logits:
        """Answer one request; the shape is (len(tokens) - logits_from, vocabulary)."""
        ...


@runtime_checkable
class TreeSession(Session, Protocol):
    """A session that can evaluate the nodes of a tree in one pass."""

    def forward_tree(self, request: TreeForward) -> Logits:
        """Answer one request, or the beginning of it."""
        ...


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
