"""Options with several values, separated by commas."""

from functools import partial
from typing import TypeVar

from operators.errors import UsageError

T = TypeVar("T", int, float)


def words(option: str, text: str) -> list[str]:
    """The words between the commas.

    Raises:
        UsageError: when there are none; all functions in this module raise it.
    """
    found = [word.strip() for word in text.split(",") if word.strip()]
    if not found:
        raise UsageError(f"{option}: there is no value; give at least one")
    return found


def numbers(option: str, text: str, kind: type[T]) -> list[T]:
    """Numbers."""
    return [_number(option, word, kind) for word in words(option, text)]


def shares(option: str, text: str) -> list[float]:
    """Numbers from 0 to 1."""
    found = []
    for word in words(option, text):
        try:
            number = float(word)
        except ValueError:
            number = -1.0
        if not 0.0 <= number <= 1.0:
            raise UsageError(f"{option}: {word!r} is not a number from 0 to 1; separate values with commas")
        found.append(number)
    return found


integers = partial(numbers, kind=int)
floats = partial(numbers, kind=float)


def _number(option: str, word: str, kind: type[T]) -> T:
    try:
        return kind(word)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise UsageError(f"{option}: {word!r} is not {what}; separate values with commas") from None
