"""A file next to an input that collects the input's unusable lines."""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from connectors.files.output import WriteError


class Rejects:
    """The file of rejected lines; a run that rejects none leaves no such file.

    Args:
        path: The file.
        size: Number of bytes to keep of it.

    Raises:
        WriteError: when it can be neither truncated to that size nor removed.
    """

    def __init__(self, path: Path, size: int) -> None:
        self._path = path
        #: Size of the file in bytes.
        self.size = size
        try:
            if size:
                os.truncate(path, size)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise WriteError(path, error) from None

    def write(self, line: Iterable[bytes]) -> bool:
        """Write a line, given in pieces, completely or not at all; returns whether there was room."""
        size = self.size
        try:
            with self._path.open("ab", buffering=0) as file:
                for piece in line:
                    left = memoryview(piece)
                    while left:
                        left = left[file.write(left) :]
                    size += len(piece)
        except OSError:
            # The line is still in the input file.
            with contextlib.suppress(OSError):
                os.truncate(self._path, self.size)
            return False
        self.size = size
        return True
