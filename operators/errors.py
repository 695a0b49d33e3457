"""The errors that a user can cause and fix. Each is one sentence: what is wrong, where, and what to do.

They are raised once, at the edge. The program that runs a flow prints the sentence and exits with the
class's ``exit_code``; any other exception is a bug in surtitle and exits with 70.
"""

import difflib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from typing_extensions import override

from operators.addresses import shown_in


def printable(text: str) -> str:
    """The text, with an escape for each character that a terminal would not print."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


# Longer names are compared by their beginnings: comparing takes the product of the lengths.
_MAX_NAME = 64


def nearest(given: str, names: Iterable[str]) -> str | None:
    """The name that is most similar to the given one, whatever the case; None if none is similar."""
    by_folded = {name.casefold()[:_MAX_NAME]: name for name in names}
    wanted = given[:_MAX_NAME].casefold()
    found = difflib.get_close_matches(wanted, by_folded, n=1)
    return by_folded[found[0]] if found else None


#: Exit code after Ctrl-C: 128 and the number of SIGINT, as shells count.
INTERRUPTED_EXIT_CODE = 130

# Maximum characters of a sentence, because it may quote a file.
_MAX_CHARACTERS, _HEAD, _TAIL = 2000, 1500, 400


class SurtitleError(Exception):
    """Something outside surtitle is wrong; the message is the sentence that the user reads."""

    exit_code: ClassVar[int] = 1
    #: The name of the error among the messages in JSON.
    event: ClassVar[str] = "error"

    @override
    def __str__(self) -> str:
        """The sentence on one line, without control sequences and secrets in addresses.

        A terminal must not obey the name of a file.
        """
        sentence = super().__str__()
        if len(sentence) > _MAX_CHARACTERS:
            sentence = f"{sentence[:_HEAD]} … {sentence[-_TAIL:]}"
        return printable(shown_in(sentence))


class UsageError(SurtitleError):
    """The command line or the settings request something impossible."""

    exit_code = 2
    event = "usage_error"


class InputError(SurtitleError):
    """An input file, model or event is not valid."""

    exit_code = 3
    event = "input_error"


class DamagedInputError(InputError):
    """An input has defects; its sound part was used, so there are results."""


class OutputError(SurtitleError):
    """A destination for results cannot be written."""

    exit_code = 4
    event = "output_error"


class InterruptedRunError(SurtitleError):
    """Ctrl-C ended a benchmark before it was finished; the message names the results that were kept."""

    exit_code = INTERRUPTED_EXIT_CODE
    event = "bench_interrupted"


class ClusterError(SurtitleError):
    """A process of the cluster was lost, or a topic has changed (``EX_TEMPFAIL`` of sysexits.h)."""

    exit_code = 75
    event = "cluster_error"


#: Exit code for a bug in surtitle (``EX_SOFTWARE`` of sysexits.h).
INTERNAL_EXIT_CODE = 70


class InternalError(SurtitleError):
    """A part of surtitle that captions do not need has failed; its traceback was reported at that time."""

    exit_code = INTERNAL_EXIT_CODE
    event = "internal_error"


def unreadable(path: Path, error: OSError) -> str:
    """The error message for a file that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return f"{path} cannot be read: {missing(path)}"
    reason = error.strerror or str(error)
    if isinstance(error, PermissionError):
        return f"{path} cannot be read: {reason}; ask its owner for access, or name another file"
    return f"{path} cannot be read: {reason}; check its name and its disk"


def is_folder(path: Path) -> bool:
    """Whether a path leads to a folder. Raises `InputError` if the system denies access."""
    try:
        return path.is_dir()
    except OSError as error:
        raise InputError(unreadable(path, error)) from None


def is_visible_file(path: Path) -> bool:
    """Whether a path leads to a regular file that this process can see.

    `Path.is_file` raises for a path that is too long and for a folder that may not be searched. This returns
    False for them; opening the file then gives the reason.
    """
    return os.path.isfile(path)  # noqa: PTH113 - see above


def is_visible(path: Path) -> bool:
    """Whether a path leads to a file or folder that this process can see."""
    return os.path.exists(path)  # noqa: PTH110 - see above


def missing(path: Path) -> str:
    if not os.path.isdir(path.parent):  # noqa: PTH112 - `Path.is_dir` raises where nobody may look
        return f"there is no folder {path.parent}; check the path"
    return "there is no such file; check its name"
