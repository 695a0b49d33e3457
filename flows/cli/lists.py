"""Options with several values, separated by commas."""

from typing import TypeVar

from operators.errors import UsageError

T = TypeVar("T", int, float)


def words(text: str | None) -> list[str] | None:
    """What stands between the commas; None for an option that was not given."""
    return None if text is None else [word.strip() for word in text.split(",") if word.strip()]


def numbers(
    option: str, text: str | None, kind: type[int | float], *, special: str | None = None
) -> list[int | float | None] | None:
    """Numbers, and None where the ``special`` word stands; None for an option that was not given.

    Raises `UsageError` for what is no number.
    """
    found = words(text)
    if found is None:
        return None
    if not found:
        raise UsageError(f"{option}: there is no value; give at least one")
    return [None if word == special else _number(option, word, kind) for word in found]


def numbers_of(option: str, text: str, kind: type[T]) -> list[T]:
    """The numbers of an option that has a default; raises likewise."""
    return [kind(number) for number in numbers(option, text, kind) or () if number is not None]


def _number(option: str, word: str, kind: type[int | float]) -> int | float:
    try:
        return kind(word)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise UsageError(f"{option}: {word!r} is not {what}; separate several by commas") from None
