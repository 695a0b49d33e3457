"""The file beside an input in which its lines are put aside that cannot be used."""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from connectors.files.output import WriteError


class Rejects:
    """The file of rejected lines; a run that rejects none leaves none behind.

    Args:
        path: The file.
        size: Bytes of it to keep.

    Raises:
        WriteError: when it can neither be cut to that nor removed.
    """

    def __init__(self, path: Path, size: int) -> None:
        self._path = path
        #: Bytes of it.
        self.size = size
        try:
            if size:
                os.truncate(path, size)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise WriteError(path, error) from None

    def write(self, line: Iterable[bytes]) -> bool:
        """Put a line aside, in pieces, or nothing of it; whether there was room."""
        size = self.size
        try:
            with self._path.open("ab", buffering=0) as file:
                for piece in line:
                    left = memoryview(piece)
                    while left:
                        left = left[file.write(left) :]
                    size += len(piece)
        except OSError:
            # It is still in the file that it came from.
            with contextlib.suppress(OSError):
                os.truncate(self._path, self.size)
            return False
        self.size = size
        return True
