"""The limit of open files in a process: each viewer takes one."""

import contextlib
import sys

# Files that a run may need for itself, a generous estimate: about twenty, and more with each worker.
_RUN_FILES = 200


def allow_open_files(count: int) -> int:
    """Raise the process's limit to ``count``, as far as the system permits; returns the limit now."""
    if sys.platform == "win32":
        return count  # Windows has no such limit
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= count:
        return count
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return soft


def most_sockets(wanted: int, share: int) -> int:
    """How many of the wanted connections a server may hold.

    Viewers must not keep the run from opening a file.

    Args:
        share: If the limit is low, the server gets one part in ``share`` of it; otherwise all but a reserve.
    """
    allowed = allow_open_files(wanted + _RUN_FILES)
    return max(1, min(wanted, max(allowed - _RUN_FILES, allowed // share)))
