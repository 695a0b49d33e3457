"""Files that are written at once, and are whole or not there: no reader meets half of one."""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from connectors.files.output import WriteError, inherited


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that is there as a whole or, when it cannot be written, as it was before.

    Raises:
        WriteError: when it cannot be written.
    """
    with whole_file(path) as file:
        file.write(data)


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that is there as a whole after the block or, when an error ends that, as it was before.

    Pipes, devices, and what this process was started with, such as standard output, get what is written as it
    comes: they are neither replaced nor cut.

    Raises:
        WriteError: when it cannot be written, also for an `OSError` of the block.
    """
    # A link stays one.
    target = Path(os.path.realpath(path))
    try:
        if (number := inherited(path)) is not None:
            # What others write there, and have written, stays.
            sys.stdout.flush()
            with os.fdopen(os.dup(number), "wb") as file:
                yield file
            return
        is_there = target.exists()
        if is_there and not (target.is_file() and os.access(target.parent, os.W_OK)):
            with target.open("wb") as file:
                yield file
            return
        own = target.with_name(f".{target.name}.{os.getpid()}.partial")
        try:
            with own.open("wb") as file:
                yield file
            if is_there:
                own.chmod(stat.S_IMODE(target.stat().st_mode))
            own.replace(target)
        finally:
            own.unlink(missing_ok=True)
    except OSError as error:
        raise WriteError(path, error) from None
