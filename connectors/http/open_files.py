"""The limit of open files in a process: each viewer takes one."""

import contextlib
import sys

from operators.errors import UsageError

# Files that a run may need for itself, a generous estimate: about twenty, and more with each worker.
_RUN_FILES = 200
# Without so many, it would fail at a moment of its own choice.
_LEAST_RUN_FILES = 32


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


def most_sockets(wanted: int, share: int, files: int = 0) -> int:
    """How many of the wanted connections a server may hold.

    Viewers must not keep the run from opening a file.

    Args:
        share: If the limit is low, the server gets one part in ``share`` of it; otherwise all but a reserve.
        files: Maximum number of files that the rooms of the server write at the same time.

    Raises:
        UsageError: when the system permits too few open files for those of the rooms.
    """
    reserved = _RUN_FILES + files
    allowed = allow_open_files(wanted + reserved)
    if files and allowed - allowed // share < files + _LEAST_RUN_FILES:
        needed = (files + _LEAST_RUN_FILES) * share // (share - 1) + 1
        raise UsageError(
            f"the rooms write {files} files at the same time, and this process may open only {allowed}; "
            f"raise that limit (ulimit -n {needed}), lower --rooms, or leave out --captions-folder"
        )
    return max(1, min(wanted, max(allowed - reserved, allowed // share)))
