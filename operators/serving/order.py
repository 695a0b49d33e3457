"""Which of the requests that wait go into the next pass."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from operators.serving.line import PATIENCE


class Pending(Protocol):
    """A request that waits for a pass."""

    #: Tokens that a pass has to evaluate for it.
    size: int
    #: Passes that had been made when it began to wait.
    since: int
    #: Passes that were made meanwhile without it.
    passed_over: int

    @property
    def is_final(self) -> bool:
        """Whether it belongs to the last update of a segment."""
        ...


P = TypeVar("P", bound=Pending)


def select(pending: Sequence[P], fill: int, most: int) -> list[P]:
    """The next pass: finals first, then who has waited longest, up to ``fill`` tokens and ``most`` requests.

    A request that was passed over a few times counts as a final, so that each is served at last. The first
    one goes whatever its size; one that has no room in this pass lets smaller ones by.
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
