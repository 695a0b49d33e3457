"""A file of results that survives a crash: each result is appended as a line, and read again afterwards."""

import fcntl
import os
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from connectors.files.contents import DAMAGED
from operators.errors import OutputError

T = TypeVar("T")


class Journal(Generic[T]):
    """Appends results to a file of JSON lines, and returns those of an interrupted run.

    Delivery: at least once. A result counts once its line is complete; a killed process loses at most the one
    that it was writing. Two processes never write the same journal.
    """

    def __init__(
        self,
        path: Path,
        result_type: type[T],
        *,
        fresh: bool = False,
        elsewhere: str = "set XDG_CACHE_HOME to another folder",
    ) -> None:
        """Open or create ``path``; with ``fresh`` discard its contents. Raises `OutputError`.

        ``elsewhere`` tells the user how to choose another place.
        """
        self.path, self._elsewhere = path, elsewhere
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise self._error(error) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise OutputError(
                f"the same command is already running, and writes {path}; wait for it"
            ) from None
        #: Results found in the file.
        self.results = [] if fresh else self._read(result_type)
        #: Number of results in the file.
        self.count = len(self.results)
        if fresh:
            os.truncate(self._file, 0)

    def __enter__(self) -> "Journal[T]":
        return self

    def __exit__(self, *_exception: object) -> None:
        if not self.count:
            # A run that could not begin leaves no file behind.
            self.remove()
        os.close(self._file)

    def append(self, result: T) -> None:
        """Add one result. Raises `OutputError` if the disk is full."""
        line = msgspec.json.encode(result) + b"\n"
        try:
            while line:
                line = line[os.write(self._file, line) :]
        except OSError as error:
            raise self._error(error) from None
        self.count += 1

    def remove(self) -> None:
        """Remove the file: the run is over."""
        self.path.unlink(missing_ok=True)

    def _read(self, result_type: type[T]) -> list[T]:
        """All results up to the first incomplete line; the rest of the file is cut off."""
        decoder, results, good = msgspec.json.Decoder(result_type), [], 0
        for line in self.path.read_bytes().splitlines(keepends=True):
            try:
                if not line.endswith(b"\n"):
                    break
                results.append(decoder.decode(line))
            except DAMAGED:
                break
            good += len(line)
        os.truncate(self._file, good)
        return results

    def _error(self, error: OSError) -> OutputError:
        return OutputError(
            f"{self.path}: the results so far cannot be saved there ({error.strerror}); "
            f"free space, or {self._elsewhere}"
        )
