"""Selects the waiting requests for the next pass."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from operators.serving.line import PATIENCE


class Pending(Protocol):
    """A request that waits for a pass."""

    #: Number of tokens that a pass has to evaluate for it.
    size: int
    #: Number of passes that had been made when it began to wait.
    since: int
    #: Number of passes that have been made without it since then.
    passed_over: int

    @property
    def is_final(self) -> bool:
        """Whether it belongs to the last update of a segment."""
        ...


P = TypeVar("P", bound=Pending)


def select(pending: Sequence[P], fill: int, most: int) -> list[P]:
    """The next pass: finals first, then the longest wait, up to ``fill`` tokens and ``most`` requests.

    A request that was passed over a few times counts as a final, so that none starves. The first request is
    taken whatever its size; if a later one does not fit into this pass, smaller ones may overtake it.
    """
    chosen: list[P] = []
    tokens = 0
    for one in sorted(pending, key=_rank):
        if len(chosen) == most:
            break
        if not chosen or tokens + one.size <= fill:
            chosen.append(one)
            tokens += one.size
    return chosen


def _rank(one: Pending) -> tuple[bool, int]:
    return not (one.is_final or one.passed_over >= PATIENCE), one.since
