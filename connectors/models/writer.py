"""Writes a model file, which gets its name only when it is complete, and computes its checksum."""

import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from connectors.files.output import inherited
from connectors.gguf.file import GgufFile, write_gguf
from operators.errors import OutputError

# Suffix of a file that is not complete yet.
_PARTIAL = ".partial"
_ABANDONED_AFTER_S = 3600.0


def write_model(path: Path, file: GgufFile, progress: Callable[[float], None] | None = None) -> str:
    """Write ``file`` to ``path``, and return its sha256. ``progress`` gets the fraction done.

    A link stays a link. Raises `OutputError` if the file cannot be written, or if it would replace a device,
    a pipe or a descriptor inherited by this process, such as standard output.
    """
    check_place(path)
    target = Path(os.path.realpath(path))
    try:
        with new_file(target) as partial:
            write_gguf(partial, file.entries, file.tensors, progress)
            with partial.open("rb") as written:
                sha256 = hashlib.file_digest(written, "sha256").hexdigest()
    except OSError as error:
        size = sum(len(tensor.data) for tensor in file.tensors.values()) / 1e6
        raise OutputError(
            f"{path} cannot be written, {error.strerror}: free {size:.0f} MB, or name another file"
        ) from None
    return sha256


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """The path of an empty file, which is renamed to ``target`` after the block unless that raises.

    Processes that do this at the same time each write a separate file; the last one stays.
    """
    handle, name = tempfile.mkstemp(_PARTIAL, f"{target.name}.", target.parent)
    partial = Path(name)
    try:
        yield partial
        # Or after a power failure there is a file of this name and length without its contents.
        os.fsync(handle)
        partial.chmod(0o644)
        partial.replace(target)
    finally:
        os.close(handle)
        partial.unlink(missing_ok=True)


def check_place(path: Path) -> None:
    """Raise `OutputError` if a file would replace a device, a pipe or standard output."""
    if (path.exists() and not path.is_file()) or inherited(path) is not None:
        raise OutputError(f"{path} cannot be written: a model needs a regular file; name one")


def remove_abandoned(target: Path) -> None:
    """Remove the partial files of killed processes next to ``target``; each is as large as the model."""
    for partial in target.parent.glob(f"{target.name}.*{_PARTIAL}"):
        try:
            if time.time() - partial.stat().st_mtime > _ABANDONED_AFTER_S:
                partial.unlink()
        except FileNotFoundError:
            continue  # its process was still alive and has finished it
