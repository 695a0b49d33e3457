"""Texts for counting words: plain or compressed, one text per line, or several separated by tabs."""

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from operators.errors import InputError, unreadable

#: Maximum characters of a line; a longer one is read in parts.
_MAX_LINE_CHARACTERS = 16 * 1024
_GZIP = b"\x1f\x8b"


def read_texts(path: Path, progress: Callable[[float], None] | None = None) -> Iterator[str]:
    """The texts of a file; ``progress`` gets the fraction of the file that has been read, from 0 to 1.

    Raises `InputError` if the file cannot be read or is not UTF-8 text.
    """
    number = 0
    try:
        size = path.stat().st_size
        with path.open("rb") as raw:
            is_packed = raw.read(2) == _GZIP
            raw.seek(0)
            data = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if is_packed else raw
            file = io.TextIOWrapper(data, "utf-8-sig", newline="\n")
            while line := file.readline(_MAX_LINE_CHARACTERS):
                number += 1
                yield from filter(None, (text.strip() for text in line.split("\t")))
                if progress is not None and number % 1000 == 0:
                    progress(min(raw.tell() / size, 1.0))
    except UnicodeDecodeError:
        raise InputError(
            f"{path} is not UTF-8 after line {number}; give texts in UTF-8, plain or compressed with gzip"
        ) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} is damaged after line {number} ({error}): fetch it again") from None
    except OSError as error:
        raise InputError(unreadable(path, error)) from None
    if not number:
        raise InputError(f"{path} is empty: give texts, one per line")
