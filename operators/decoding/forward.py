"""The interface between all decoding methods and models.

A method is a generator. It yields a `Forward` request for a forward pass and receives the logits; it never
runs a pass itself. The driver may answer from a toy model, from llama.cpp, or batch the requests of many
segments; a method does not depend on that. Three kinds of request are optional for a session: `TreeForward`
may be answered in part, and `BeamForward` and `AskDraftModel` may get no rows.
"""

from collections.abc import Callable, Container, Generator, Sequence
from enum import Enum
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from operators.decoding.pieces import Piece, textless
from operators.decoding.tree import TokenTree
from operators.model_errors import ErrorKind, ModelError

#: Unnormalised log-probabilities, shape (positions, vocabulary). A view of the model's own buffer, valid
#: until the next request; the method that receives it may overwrite it.
Logits = NDArray[np.float32]


#: The answer to a request for which nothing was evaluated.
NO_ROWS: Logits = np.empty((0, 0), np.float32)


class Forward(NamedTuple):
    """Hold exactly ``tokens``, and return the logits from position ``logits_from`` on.

    The row of position i predicts the token at position i + 1.
    """

    tokens: Sequence[int]
    logits_from: int
    #: Where the output begins, if its place matters: see ``kept``.
    output_from: int = 0
    #: Number of tokens from there on whose cells may stay although they were computed after another prompt. A
    #: session that cannot keep these cells evaluates the tokens.
    kept: int = 0


class TreeForward(NamedTuple):
    """Hold ``tokens`` and after them the nodes of ``tree``, each of which attends only to its own path.

    The answer has a row for each token and then each node from position ``logits_from`` on, where node i has
    position len(tokens) + i. Nodes at the end may be omitted: then there are fewer rows, perhaps none. A
    session without trees gets a request for the trunk.
    """

    tokens: Sequence[int]
    tree: TokenTree
    logits_from: int
    #: As in `Forward`.
    output_from: int = 0
    kept: int = 0


class BeamForward(NamedTuple):
    """Hold ``tokens``, and several alternative continuations of them.

    The answer has a row for the end of each path. All paths have the same length of at least one token. Each,
    without its last token, was a path of the request before, unless this is the first request for ``tokens``.
    A session that cannot hold so many continuations gives no rows.
    """

    tokens: Sequence[int]
    paths: Sequence[tuple[int, ...]]
    #: As in `Forward`.
    output_from: int = 0
    kept: int = 0

    @property
    def logits_from(self) -> int:
        return len(self.tokens)


class AskDraftModel(NamedTuple):
    """A request to the draft model; without rows if its pass failed, which costs only its drafts."""

    request: Forward | TreeForward


#: A request that a model's session answers.
ModelRequest = Forward | TreeForward | BeamForward
Request = ModelRequest | AskDraftModel


class Origin(Enum):
    #: A token of the last output: kept without a check, or verified and accepted.
    COMMITTED = "committed"
    DRAFT = "draft"
    #: Drafted and confirmed. The sources, in order: the rejected rest of a draft or another branch of it, an
    #: earlier text, the model's own guess in the pass before, and a step of the draft model.
    RECYCLED = "recycled"
    LOOKED_UP = "looked up"
    PARALLEL = "parallel"
    MODEL = "model"
    #: The model's own choice after all known tokens.
    OWN = "own"


class DecodingResult(NamedTuple):
    """A method's result: the output and its origin."""

    #: Token ids of the output, without the stop token.
    tokens: tuple[int, ...]
    #: Tokens of the last output, and how many of them were accepted.
    drafted: int = 0
    accepted: int = 0
    #: Tokens drafted from other sources, and how many of them were accepted.
    proposed: int = 0
    taken: int = 0
    #: The origin of each token of the output.
    origins: tuple[Origin, ...] = ()
    #: Whether the output is complete; False if a doubtful token ended it early.
    is_whole: bool = True
    #: Why the output was cut before the model ended it; None if the model ended it.
    cut: ErrorKind | None = None
    #: Start of the last phrase of the accepted tokens if the model could only repeat it; decoding stopped
    #: after it. None otherwise.
    doubted: int | None = None


Method = Generator[Request, Logits, DecodingResult]


def observed(method: Method, see: Callable[[Request, Logits], None]) -> Method:
    """The method, with ``see`` called for each answer before the method gets it; it may change the rows."""
    try:
        request = next(method)
        while True:
            rows = yield request
            see(request, rows)
            request = method.send(rows)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


class Task(NamedTuple):
    """One translation to make: all inputs of a method."""

    #: Token ids of the whole prompt; at least one.
    prompt: Sequence[int]
    #: Token ids of the previous translation; empty at the first update of a segment.
    draft: Sequence[int]
    #: Token ids that end the output.
    stop: Container[int]
    #: Maximum number of tokens of the output.
    limit: int
    #: Number of draft tokens, from the first on, that are kept without a check.
    committed: int = 0
    #: Number of committed tokens whose cells may be kept although the prompt has changed.
    kept: int = 0
    #: True for the last update of a segment.
    is_final: bool = False
    #: Token ids of the source, and of recent outputs, for lookup drafts of names and terms.
    source: Sequence[int] = ()
    recent: Sequence[Sequence[int]] = ()
    #: The token for an unknown place: the model's padding token, or its substitute.
    pad: int = 0
    #: Spells the tokens of the output: an output that has to be cut is cut between words.
    piece: Piece = textless
    #: Whether an output that repeats itself continues up to its limit.
    may_repeat: bool = False


def output_limit(source_tokens: int) -> int:
    """A number of tokens that suffices for the translation of a source with ``source_tokens`` tokens.

    In the default models' vocabularies, 31,000 human translations from English take at most 77 % of it. There
    must be a limit, because a model may never end its output.
    """
    return 2 * source_tokens + 24


class Session(Protocol):
    """Holds one sequence of tokens and answers requests about it."""

    #: Tokens of the last request that did not have to be evaluated again.
    reused: int
    #: Of these, tokens of the output that were kept although the prompt has changed.
    kept: int

    def forward(self, request: Forward) -> Logits:
        """Answer one request; the shape is (len(tokens) - logits_from, vocabulary)."""
        ...


@runtime_checkable
class TreeSession(Session, Protocol):
    """A session that can evaluate the nodes of a tree in one pass."""

    def forward_tree(self, request: TreeForward) -> Logits:
        """Answer one request, in full or its beginning."""
        ...


@runtime_checkable
class BeamSession(Session, Protocol):
    """A session that can hold several continuations next to each other."""

    def forward_beams(self, request: BeamForward) -> Logits:
        """Answer one request; no rows if that many continuations do not fit."""
        ...


def best_tokens(rows: Logits) -> list[int]:
    """The most likely token of each row.

    Raises `ModelError` if a logit is not finite. Checking the best logits is enough: NumPy's argmax returns
    the place of a NaN if there is one, else of an infinity, so a row with either has no finite best.
    """
    best = rows.argmax(axis=1)
    if not np.isfinite(rows[np.arange(len(rows)), best]).all():
        raise ModelError(ErrorKind.NOT_A_NUMBER, "among the logits are some that are not finite")
    tokens: list[int] = best.tolist()
    return tokens
