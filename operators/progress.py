"""Progress callbacks for slow work."""

from collections.abc import Callable

#: Called with the current step, in a few words, and the fraction that is done (0 to 1; None if unknown).
Progress = Callable[[str, float | None], None]


def silent(_what: str, _fraction: float | None) -> None:
    """Report nothing."""
