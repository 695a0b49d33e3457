"""The files of one command: each that it writes is one of its own, and none of them is read."""

import os
import stat
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from connectors.files.output import check_writable, inherited
from operators.errors import OutputError, UsageError

# Files of a folder that are looked at: a speech model has ten.
_MAX_FILES = 1000

#: What a file is known by: its device and inode or, before it is made, its path without links.
_Identity = tuple[int, int] | str


def check_distinct(
    written: Iterable[tuple[str, Path | None]],
    read: Iterable[Path | None],
    folders: Iterable[tuple[str, Path | None]] = (),
) -> None:
    """See that each file that is written can be, is read by nobody and written once, before any is touched.

    Files are compared by inode, so that no link hides anything. Pipes, devices and what this process was
    started with, such as standard output, may be written by many. None stands for what was not asked for.

    Args:
        written: Names of outputs, as their user knows them, and their files.
        read: Files that are read, and folders all of whose files may be.
        folders: Names and paths of folders that are made unless they are there, and written into.

    Raises:
        UsageError: when two of what is written are one.
        OutputError: when a file cannot be written, or is read.
    """
    known = {_identity(path) for one in read if one is not None for path in (one, *_files_in(one))}
    names: dict[_Identity, str] = {}
    for name, folder in folders:
        if folder is not None:
            _give(os.path.realpath(folder), name, folder, names)
    for name, path in written:
        if path is None:
            continue
        check_writable(path)
        identity = _identity(path)
        if identity is None:
            continue
        _give(identity, name, path, names)
        if identity in known:
            raise OutputError(f"{path} cannot be written: the same run reads it; choose another file")


def named_files(*names: str | None) -> Iterator[Path]:
    """The files among what may be a path or, as models and templates have it, a name."""
    for name in names:
        if name and Path(name).is_file():
            yield Path(name)


def _give(identity: _Identity, name: str, path: Path, names: dict[_Identity, str]) -> None:
    other = names.setdefault(identity, name)
    if other != name:
        raise UsageError(f"{other} and {name} are both {path}; give each a file of its own")


def _files_in(path: Path) -> Iterator[Path]:
    return islice(path.rglob("*"), _MAX_FILES) if path.is_dir() else iter(())


def _identity(path: Path) -> _Identity | None:
    try:
        status = path.stat()
    except OSError:
        return os.path.realpath(path)
    if not stat.S_ISREG(status.st_mode) or inherited(path) is not None:
        return None
    return status.st_dev, status.st_ino
