"""Options with several values, separated by commas."""

from operators.errors import UsageError


def words(option: str, text: str) -> list[str]:
    """The words between the commas; raises `UsageError` when there are none."""
    found = [word.strip() for word in text.split(",") if word.strip()]
    if not found:
        raise UsageError(f"{option}: there is no value; give at least one")
    return found
