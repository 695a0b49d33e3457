"""The model interface of a scheduler: passes that answer several segments, and how many tokens fill one."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from operators.decoding.forward import BeamForward, Forward, Logits
from operators.decoding.pass_cost import PassCosts
from operators.trouble import ModelTrouble


class Asked(NamedTuple):
    """A request, and the key of the session that answers it."""

    key: str
    request: Forward | BeamForward


class Answered(NamedTuple):
    """The answer to one request."""

    #: The answer, valid until the next one is taken; or the error that explains why there is none.
    logits: Logits | ModelTrouble
    #: Number of tokens of the request that were still in the cache.
    reused: int = 0
    #: Of these, tokens of the output that were kept although the prompt has changed.
    kept: int = 0


class Passes(Protocol):
    """One model with one session per key, up to a limit; a lost session only costs time."""

    #: Maximum number of sessions, and so of requests in one pass.
    most: int

    def size(self, asked: Asked) -> int:
        """Number of tokens that a pass has to evaluate to answer this."""
        ...

    def answer(self, asked: Sequence[Asked]) -> Iterator[Answered]:
        """Answer requests of different keys together, in their order."""
        ...

    def succeed(self) -> None:
        """Record that an answer was fully usable."""
        ...

    def fail(self, key: str) -> None:
        """Drop what ``key`` holds, because something was wrong with an answer."""
        ...

    def release(self, key: str) -> None:
        """Free what ``key`` holds; unknown keys are ignored."""
        ...


#: A token may cost more than in the cheapest pass by this share, because the last bit of throughput would
#: make every room wait longer.
_NEARLY = 0.1


def fill_of(costs: PassCosts) -> int:
    """The smallest pass whose cost per token is near the minimum, among passes up to the largest measured."""
    each = [costs.of(tokens) / tokens for tokens in range(1, costs.tokens[-1] + 1)]
    bearable = (1 + _NEARLY) * min(each)
    return next(tokens for tokens, ms in enumerate(each, 1) if ms <= bearable)
