"""Text files with one text per line, such as references and a benchmark's sources."""

import stat
from pathlib import Path

from operators.errors import InputError
from operators.unreadable import unreadable

#: Maximum bytes of a file: forty times the Bible.
MAX_TEXT_BYTES = 200_000_000


def read_lines(path: Path) -> list[str]:
    """The lines of a file, including empty ones, all in memory.

    Only a newline ends a line, not the other Unicode line separators: parallel files must stay parallel.

    Raises:
        InputError: when it cannot be read, is not a regular file, is too long or not UTF-8.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InputError(f"{path} is not a regular file; put the text in a file first")
        if status.st_size > MAX_TEXT_BYTES:
            raise InputError(f"{path} has more than {MAX_TEXT_BYTES:,} bytes; give a part of it")
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise InputError(unreadable(path, error)) from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8 ({error.reason} at byte {error.start + 1}); save it as UTF-8"
        ) from None
    return lines if lines[-1] else lines[:-1]
