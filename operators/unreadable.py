"""Why a file cannot be read, and what to do: a missing one may have been misspelled."""

import os
import re
from itertools import islice
from pathlib import Path

from operators.errors import InputError
from operators.nearest import nearest

# As `Path` leaves it: with one slash.
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)
# A folder may have millions of files.
_MAX_FILES = 10_000
# A file of another kind must resemble the name more than one of the same kind.
_OTHER_KIND = 0.8


def unreadable(path: Path, error: OSError) -> str:
    """The sentence about a file that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return f"{path} cannot be read: {missing(path)}"
    reason = error.strerror or str(error)
    if isinstance(error, PermissionError):
        return f"{path} cannot be read: {reason}; ask its owner for access, or name another file"
    return f"{path} cannot be read: {reason}; check its name and its disk"


def is_folder(path: Path) -> bool:
    """Whether a path leads to a folder. Raises `InputError` if the system does not let us look."""
    try:
        return path.is_dir()
    except OSError as error:
        raise InputError(unreadable(path, error)) from None


def is_visible_file(path: Path) -> bool:
    """Whether a path leads to a regular file that this process can see.

    `Path.is_file` raises for a path that is too long and for a folder that may not be searched. Here these
    are no files; whoever reads them says why.
    """
    return os.path.isfile(path)  # noqa: PTH113 - see above


def is_visible(path: Path) -> bool:
    """The same for anything that a path may lead to."""
    return os.path.exists(path)  # noqa: PTH110 - see above


def missing(path: Path) -> str:
    """The end of the sentence about a file that does not exist."""
    if str(path) == "-":
        return "surtitle does not read standard input; save it as a file, and give that"
    if _ADDRESS.match(str(path)):
        return "surtitle reads files, not addresses; download it, and give the path of the file"
    folder = path.parent
    try:
        if not folder.is_dir():
            return f"there is no folder {folder}; check the path"
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, _MAX_FILES) if entry.is_file()]
    except OSError:
        names = []
    alike = [name for name in names if Path(name).suffix == path.suffix]
    found = nearest(path.name, alike) or nearest(path.name, names, _OTHER_KIND)
    return "there is no such file; " + (
        "check its name" if found is None else f"did you mean {folder / found}?"
    )
