"""Reads the lines of a file one at a time, with their positions; memory stays bounded."""

import stat
from collections.abc import Iterator
from pathlib import Path

from operators.errors import InputError, unreadable

#: Maximum bytes of a line that is read as a whole.
MAX_LINE_BYTES = 8 * 1024 * 1024


class LineReader:
    """Reads a regular file by lines; blank ones are counted and skipped.

    Args:
        path: The file.
        offset: Where to begin, in bytes; must be the beginning of a line.
        number: Number of lines before ``offset``.

    Raises:
        InputError: when the file cannot be read, is not a regular file, or has no line at ``offset``.
    """

    def __init__(self, path: Path, offset: int = 0, number: int = 0) -> None:
        self.path = path
        #: Start of the next line, in bytes.
        self.offset = offset
        #: Number of the last line read, counted from 1.
        self.number = number
        self._is_inside_line = False
        self._before = (offset, number)
        try:
            # Checked before opening: opening a pipe waits for a writer.
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                raise InputError(f"{path} is not a regular file; put the events in a file first")
            if status.st_size < offset:
                raise InputError(f"{path} has become shorter since the run being resumed; start a new run")
            self._file = path.open("rb")
            self._check_place()
        except OSError as error:
            raise InputError(unreadable(path, error)) from None

    def _check_place(self) -> None:
        """Go to ``offset``, where a line has to begin, or to end if it had no end when it was read."""
        self._file.seek(max(0, self.offset - 1))
        around = self._file.read(min(self.offset, 1) + 1)
        if self.offset and around[:1] != b"\n" and not around[1:].isspace() and len(around) > 1:
            self.close()
            raise InputError(f"{self.path} has changed since the run being resumed; start a new run")
        self._file.seek(self.offset)

    def __enter__(self) -> "LineReader":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.read, b"")

    def read(self) -> bytes:
        """The next line that is not blank; empty at the end of the file.

        Of a line longer than `MAX_LINE_BYTES`, only the first `MAX_LINE_BYTES` + 1 bytes are returned.
        """
        for _ in self.rest():
            pass
        self._before = (self.offset, self.number)
        while line := self._read():
            self.number += 1
            if self._is_inside_line or not line.isspace():
                return line
        return b""

    def rest(self) -> Iterator[bytes]:
        """The part of a line that `read` left because the line is too long, in pieces."""
        while self._is_inside_line:
            yield self._read()

    def unread(self) -> None:
        """Go back to before the last `read`."""
        self.offset, self.number = self._before
        self._is_inside_line = False
        self._file.seek(self.offset)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _read(self) -> bytes:
        try:
            line = self._file.readline(MAX_LINE_BYTES + 1)
        except OSError as error:
            raise InputError(unreadable(self.path, error)) from None
        self.offset += len(line)
        self._is_inside_line = len(line) > MAX_LINE_BYTES and not line.endswith(b"\n")
        return line
