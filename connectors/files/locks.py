"""Locks an open file against other processes."""

import os
import sys

# Windows locks bytes, and no other process can write those: this one is behind the end of all our files.
_BYTE = 2**31 - 2


def lock(file: int) -> None:
    """Lock a file until this descriptor is closed, without waiting.

    Raises:
        BlockingIOError: when it is locked already.
        OSError: when its file system has no locks.
    """
    if sys.platform == "win32":
        import msvcrt

        before = os.lseek(file, 0, os.SEEK_CUR)
        os.lseek(file, _BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(*error.args) from None
        finally:
            os.lseek(file, before, os.SEEK_SET)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
