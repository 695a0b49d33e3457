"""Files that are written at once, and are whole or not there: no reader meets half of one."""

import os
import stat
import sys
from pathlib import Path

from connectors.files.output import WriteError, inherited


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that is there as a whole or, when it cannot be written, as it was before.

    Raises:
        WriteError: when it cannot be written.
    """
    # A link stays one.
    target = Path(os.path.realpath(path))
    try:
        if (number := inherited(path)) is not None:
            # What others write there, and have written, stays.
            sys.stdout.flush()
            with os.fdopen(os.dup(number), "wb") as output:
                output.write(data)
            return
        is_there = target.exists()
        if is_there and not (target.is_file() and os.access(target.parent, os.W_OK)):
            target.write_bytes(data)
            return
        own = target.with_name(f".{target.name}.{os.getpid()}.partial")
        try:
            own.write_bytes(data)
            if is_there:
                own.chmod(stat.S_IMODE(target.stat().st_mode))
            own.replace(target)
        finally:
            own.unlink(missing_ok=True)
    except OSError as error:
        raise WriteError(path, error) from None
