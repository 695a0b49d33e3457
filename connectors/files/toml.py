"""Reads TOML files with arbitrary contents in bounded time and memory."""

import tomllib
from pathlib import Path
from typing import Any

from operators.errors import InputError
from operators.unreadable import missing

# Settings take hundreds of bytes, templates thousands. Parsing time is quadratic in a dotted key's length.
_MAX_BYTES = 16 * 1024


def read_toml(path: Path, what: str, option: str) -> dict[str, Any]:
    """The contents of a file.

    Args:
        path: the file.
        what: its purpose, such as ``settings file``.
        option: the option that names it, such as ``--settings``.

    Raises:
        InputError: the file cannot be read, is too long or is not TOML.
    """
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: this is not a {what}; check {option}")
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise InputError(f"{path} is longer than the {_MAX_BYTES} bytes of a {what}; check {option}")
        return tomllib.loads(content.decode("utf-8-sig"))
    except FileNotFoundError:
        raise InputError(f"{path}: the {what} cannot be read: {missing(path)}") from None
    except OSError as error:
        raise InputError(f"{path}: the {what} cannot be read ({error.strerror}); check {option}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: save the {what} as UTF-8; byte {error.start + 1} is not") from None
    except RecursionError:
        raise InputError(f"{path}: this is not valid TOML: nest its brackets less deeply") from None
    except tomllib.TOMLDecodeError as error:
        what_to_do = "put text in quotes" if "Invalid value" in str(error) else "correct that place"
        raise InputError(f"{path}: this is not valid TOML: {error}; {what_to_do}") from None
    except ValueError:  # a Python error that tomllib lets through
        raise InputError(f"{path}: this is not valid TOML: shorten the number with too many digits") from None
