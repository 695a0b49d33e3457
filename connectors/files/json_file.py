"""JSON files that a user names: one object of a known type, of bounded size."""

from pathlib import Path
from typing import TypeVar

import msgspec

from connectors.files.damage import DAMAGED
from operators.errors import InputError
from operators.unreadable import unreadable

T = TypeVar("T")


def read_json(path: Path, kind: type[T], what: str, remedy: str, max_bytes: int = 2**24) -> T:
    """Decode a JSON file.

    Args:
        path: The file.
        kind: The type of its content.
        what: What it should be, such as ``a trace``.
        remedy: What the user should do if it is not.
        max_bytes: Maximum size of the file.

    Raises:
        InputError: the file cannot be read, is too long, or is something else.
    """
    try:
        with path.open("rb") as file:
            content = file.read(max_bytes + 1)
        if len(content) > max_bytes:
            raise InputError(
                f"{path} has more than {max_bytes:,} bytes, which is too long for {what}; {remedy}"
            )
        return msgspec.json.decode(content, type=kind)
    except OSError as error:
        raise InputError(unreadable(path, error)) from None
    except DAMAGED as error:
        raise InputError(f"{path} is not {what}: {error}; {remedy}") from None
