"""Writes files atomically: a reader sees the old file or the complete new one."""

import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from connectors.files.output import WriteError, inherited, open_to_write, unfinished


def write_atomically(path: Path, data: bytes, *, is_secret: bool = False) -> None:
    """Write a file atomically: if it cannot be written, the old one stays.

    Only its owner can read a secret, even if others could read the old file.

    Raises:
        WriteError: when it cannot be written.
    """
    with atomic_file(path, is_secret=is_secret) as file:
        file.write(data)


def write_note(path: Path, data: bytes) -> None:
    """Write a cache file and create its folder; errors are ignored, because the cache can be rebuilt."""
    with suppress(OSError, WriteError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, data)


@contextmanager
def atomic_file(path: Path, *, is_secret: bool = False) -> Iterator[BinaryIO]:
    """Open a file that is replaced after the block; if the block raises, the old file stays.

    Pipes, devices and descriptors inherited by this process, such as standard output, are written directly:
    they are neither replaced nor truncated.

    Raises:
        WriteError: when the file cannot be written, also for an `OSError` in the block.
    """
    # A symbolic link is followed, not replaced.
    target = Path(os.path.realpath(path))
    try:
        if (number := inherited(path)) is not None:
            # Keep what other processes have written there, and still write.
            sys.stdout.flush()
            with os.fdopen(os.dup(number), "wb") as file:
                yield file
            return
        is_there = target.exists()
        if is_there and not (target.is_file() and os.access(target.parent, os.W_OK)):
            with os.fdopen(open_to_write(target), "wb") as file:
                if target.is_file():
                    file.truncate()
                yield file
            return
        own = unfinished(target)
        try:
            with own.open("wb") as file:
                if is_secret:
                    own.chmod(0o600)
                yield file
            if is_there and not is_secret:
                own.chmod(stat.S_IMODE(target.stat().st_mode))
            replace(own, target)
        finally:
            own.unlink(missing_ok=True)
    except OSError as error:
        raise WriteError(path, error) from None


def replace(made: Path, target: Path) -> None:
    """Rename a complete file. On Windows, wait up to a second while other processes have the old one open."""
    waits_s = [0.7, 0.25, 0.05] if sys.platform == "win32" else []
    while True:
        try:
            made.replace(target)
        except PermissionError:
            if not waits_s:
                raise
            time.sleep(waits_s.pop())
        else:
            return
