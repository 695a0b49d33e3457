"""How many files a process may have open: each viewer is one."""

import contextlib
import sys


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
