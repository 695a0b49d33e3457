"""How many files a process may have open: each viewer is one."""

import contextlib
import sys

# Files that a run may want for itself, generously: it has some twenty open, and more with each worker.
_OWN = 200


def allow_open_files(count: int) -> int:
    """Raise the process's own limit to ``count``, as far as the system lets it; how many it may have now."""
    if sys.platform == "win32":
        return count  # it has no such limit
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
    """How many of the connections that are wanted a server may hold.

    What viewers do must not keep the run from opening a file.

    Args:
        share: The part that it may have of few files, as in a quarter for 4; of many all but some.
    """
    allowed = allow_open_files(wanted + _OWN)
    return max(1, min(wanted, max(allowed - _OWN, allowed // share)))
