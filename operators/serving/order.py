"""Selects the waiting requests for the next pass."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from operators.decoding.pass_cost import PassCosts
from operators.serving.line import PATIENCE

# A request joins a pass if that costs at most this share of a pass of its own: sharing saves time, but all
# of them wait for the whole pass.
_WORTH = 0.85


class PassTimes:
    """What passes cost by their number of tokens, looked up in place of interpolated."""

    def __init__(self, costs: PassCosts, fill: int) -> None:
        #: Maximum number of tokens that requests share: beyond what was measured nothing is known.
        self.largest = max(fill, costs.tokens[-1])
        self._ms = [0.0, *(costs.of(tokens) for tokens in range(1, self.largest + 1))]

    def of(self, tokens: int) -> float:
        """Milliseconds of a pass over at most `largest` tokens."""
        return self._ms[tokens]


class Pending(Protocol):
    """A request that waits for a pass."""

    #: Number of tokens that a pass has to evaluate for it.
    size: int
    #: Its place among all requests, in the order in which their updates began.
    place: int
    #: Number of passes that have been made without it since it began to wait.
    passed_over: int

    @property
    def is_final(self) -> bool:
        """Whether it belongs to the last update of a segment."""
        ...


P = TypeVar("P", bound=Pending)


def select(pending: Sequence[P], times: PassTimes, most: int) -> list[P]:
    """The next pass: the first request, and up to ``most`` in all that save time by joining it.

    Finals are first, then the update that began first: as many updates as possible end early, rather than all
    of them late. A request that was passed over a few times counts as a final, so that none starves. Finals
    also join first, then the smallest. Of all numbers of them the one is chosen that saves most, where each
    must save a share of its own pass; a few tokens often cost more together than one after the other.
    """
    first, *others = sorted(pending, key=lambda one: (not _is_urgent(one), one.place))
    others.sort(key=lambda one: (not _is_urgent(one), one.size))
    if first.size > times.largest:
        return [first]
    tokens, alone_ms, most_saved_ms, joining = first.size, times.of(first.size), 0.0, 0
    for number, one in enumerate(others[: most - 1], 1):
        tokens += one.size
        if tokens > times.largest:
            break
        alone_ms += _WORTH * times.of(one.size)
        if (saved_ms := alone_ms - times.of(tokens)) >= most_saved_ms:
            most_saved_ms, joining = saved_ms, number
    return [first, *others[:joining]]


def _is_urgent(one: Pending) -> bool:
    return one.is_final or one.passed_over >= PATIENCE
