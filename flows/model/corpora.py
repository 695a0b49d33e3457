"""The files of training pairs, and their sampling weights."""

from pathlib import Path
from typing import NamedTuple

from operators.errors import UsageError, is_visible
from operators.languages import Language, language


class Share(NamedTuple):
    """A file of pairs, and its share of the sampled segments."""

    path: Path
    share: float


def share_of(text: str) -> Share:
    """Parse ``FILE`` or ``FILE=SHARE``. Raises `UsageError`."""
    name, _, share = text.rpartition("=")
    if not name:
        return Share(Path(text), 1.0)
    try:
        number = float(share)
    except ValueError:
        return Share(Path(text), 1.0)
    if not 0 < number < float("inf"):
        raise UsageError(f"--pairs {text}: the share {share} is wrong; give a number above 0")
    return Share(Path(name), number)


class Lesson(NamedTuple):
    """A file of pairs, and the language of their translations."""

    target: Language
    path: Path
    share: float


def lesson_of(text: str, target: str) -> Lesson:
    """Parse ``LANGUAGE:FILE=SHARE``, where the language is ``target`` unless named. Raises `UsageError`."""
    name, colon, rest = text.partition(":")
    # A colon may also belong to the file's name.
    if not colon or "/" in name or is_visible(Path(text)):
        return Lesson(language(target), *share_of(text))
    return Lesson(language(name), *share_of(rest))
