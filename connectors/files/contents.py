"""Contents of files in bounded memory: text, JSON, TOML, and a checksum."""

import gzip
import hashlib
import stat
import tomllib
import zlib
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

import msgspec

from operators.errors import InputError, unreadable

#: Maximum bytes of a file: forty times the Bible.
MAX_TEXT_BYTES = 200_000_000
#: Maximum bytes of a line of events.
MAX_LINE_BYTES = 8 * 1024 * 1024
# Settings take hundreds of bytes, templates thousands. Parsing time is quadratic in a dotted key's length.
_MAX_TOML_BYTES = 16 * 1024

#: The errors of msgspec for invalid bytes; two of them are Python's own.
DAMAGED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
#: The errors of reading damaged gzip.
PACKED_BADLY = (gzip.BadGzipFile, EOFError, zlib.error)

T = TypeVar("T")


def open_regular(path: Path, what: str) -> BinaryIO:
    """Open a regular file that should contain ``what``. Raises `InputError` if that is not possible."""
    try:
        # Checked before opening: opening a pipe waits for a writer.
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f"{path} is not a regular file; put {what} in a file first")
        return path.open("rb")
    except OSError as error:
        raise InputError(unreadable(path, error)) from None


def unpacked(raw: BinaryIO) -> BinaryIO:
    is_packed = raw.read(2) == b"\x1f\x8b"
    raw.seek(0)
    return cast("BinaryIO", gzip.GzipFile(fileobj=raw)) if is_packed else raw


def read_text(path: Path, what: str, max_bytes: int, remedy: str) -> str:
    """A file's text, plain or compressed with gzip, all in memory.

    Args:
        what: What it should be, such as ``the terms``.
        remedy: What the user should do if there is more than ``max_bytes`` of it.

    Raises:
        InputError: when it cannot be read, is not a regular file, is too long or not UTF-8.
    """
    try:
        with open_regular(path, what) as raw, unpacked(raw) as file:
            data = file.read(max_bytes + 1)
    except PACKED_BADLY as error:
        raise InputError(f"{path} is damaged ({error}); fetch it again") from None
    except OSError as error:
        raise InputError(unreadable(path, error)) from None
    if len(data) > max_bytes:
        raise InputError(f"{path} has more than {max_bytes:,} bytes; {remedy}")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}, line {line}: it is not UTF-8; save the file as UTF-8") from None


def read_lines(path: Path) -> list[str]:
    """The lines of a file, including empty ones, all in memory. Raises `InputError` as `read_text` does.

    Only a newline ends a line, not the other Unicode line separators: parallel files must stay parallel.
    """
    lines = read_text(path, "the text", MAX_TEXT_BYTES, "give a part of it").split("\n")
    return lines if lines[-1] else lines[:-1]


def read_json(path: Path, kind: type[T], what: str, remedy: str) -> T:
    """Decode a JSON file; the arguments and errors are those of `read_text`.

    Raises:
        InputError: also when the contents are not of this ``kind``.
    """
    try:
        return msgspec.json.decode(read_text(path, what, MAX_TEXT_BYTES, remedy), type=kind)
    except DAMAGED as error:
        raise InputError(f"{path} is not {what}: {error}; {remedy}") from None


def read_toml(path: Path, what: str, option: str) -> dict[str, Any]:
    """The contents of a TOML file.

    Args:
        what: its purpose, such as ``the settings``.
        option: the option that names it, such as ``--settings``.

    Raises:
        InputError: as for `read_text`, and when it is not TOML.
    """
    try:
        return tomllib.loads(read_text(path, what, _MAX_TOML_BYTES, f"check {option}"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: this is not valid TOML: {error}; correct that place") from None


def sha256_of(path: Path) -> str:
    """The sha256 of a file. Raises `InputError` if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(unreadable(path, error)) from None
