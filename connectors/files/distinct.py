"""Checks a command's files: all written files differ from each other and from the files that are read."""

import os
import stat
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from connectors.files.output import check_writable, inherited
from operators.errors import OutputError, UsageError, is_folder, is_visible_file

# Maximum number of files examined in a folder: a speech model has ten.
_MAX_FILES = 1000

#: The identity of a file: its device and inode or, before it exists, its path without links.
_Identity = tuple[int, int] | str


def check_distinct(
    written: Iterable[tuple[str, Path | None]],
    read: Iterable[Path | None],
    folders: Iterable[tuple[str, Path | None]] = (),
) -> None:
    """Check, before any file is touched, that each output can be written, is unique, and is not read.

    Files are compared by inode, so links make no difference. Pipes, devices and descriptors inherited by this
    process, such as standard output, may be named repeatedly. None stands for a file that was not requested.

    Args:
        written: Names of outputs, as the user knows them, and their files.
        read: Files that are read, and folders whose files may all be read.
        folders: Names and paths of folders that are written into, and created if necessary.

    Raises:
        UsageError: when two outputs are the same, or one is ``-``, which elsewhere means standard output.
        OutputError: when a file cannot be written, or is also read.
    """
    known = {_identity(path) for one in read if one is not None for path in (one, *_files_in(one))}
    names: dict[_Identity, str] = {}
    for name, folder in folders:
        if folder is not None:
            _give(os.path.realpath(folder), name, folder, names)
    for name, path in written:
        if path is None:
            continue
        if str(path) == "-":
            raise UsageError(f"{name} would be a file called -; give /dev/stdout, or the name of a file")
        check_writable(path)
        identity = _identity(path)
        if identity is None:
            continue
        _give(identity, name, path, names)
        if identity in known:
            raise OutputError(f"{path} cannot be written: the same run reads it; choose another file")


def named_files(*names: str | None) -> Iterator[Path]:
    """The arguments that are files; others are names, such as those of models and templates."""
    for name in names:
        if name and is_visible_file(Path(name)):
            yield Path(name)


def _give(identity: _Identity, name: str, path: Path, names: dict[_Identity, str]) -> None:
    other = names.setdefault(identity, name)
    if other != name:
        raise UsageError(f"{other} and {name} are both {path}; give each its own file")


def _files_in(path: Path) -> Iterator[Path]:
    return islice(path.rglob("*"), _MAX_FILES) if is_folder(path) else iter(())


def _identity(path: Path) -> _Identity | None:
    try:
        status = path.stat()
    except OSError:
        return os.path.realpath(path)
    if not stat.S_ISREG(status.st_mode) or inherited(path) is not None:
        return None
    return status.st_dev, status.st_ino
