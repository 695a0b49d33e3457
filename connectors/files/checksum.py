"""The checksum of a file."""

import hashlib
from pathlib import Path

from operators.errors import InputError
from operators.unreadable import unreadable


def sha256_of(path: Path) -> str:
    """The sha256 of a file. Raises `InputError` if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(unreadable(path, error)) from None
