"""How whoever does something slow says how far it is."""

from collections.abc import Callable

#: Told what is being done, in a few words, and how much of it is done (0 to 1; None where nobody knows).
Progress = Callable[[str, float | None], None]


def silent(_what: str, _fraction: float | None) -> None:
    """Say it to nobody."""
