"""System resources of a server: its listening socket, and open files, one for each viewer."""

import contextlib
import socket
import sys

from operators.errors import OutputError, UsageError

# Bytes that the system buffers for each slow client; by default it would buffer megabytes.
_SEND_BUFFER = 64 * 1024


def listen(host: str, port: int, *, what: str, instead: str, backlog: int) -> socket.socket:
    """Listen at an address; port 0 means any free port.

    Args:
        what: What is served there, for the error; ``instead`` is what to try if that fails.

    Raises:
        OutputError: when the port is in use or may not be opened.
    """
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        listener = socket.create_server((host, port), family=found[0][0], backlog=backlog)
    except (OSError, UnicodeError) as error:
        known = isinstance(error, OSError) and not isinstance(error, socket.gaierror) and error.strerror
        # Python adds the address.
        reason = known.partition(" (while ")[0] if known else "there is no such name or address"
        raise OutputError(f"{what} cannot be served at {host}:{port}: {reason}; {instead}") from None
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
    return listener


def shown(host: str) -> str:
    """The form of ``host`` that a browser on another machine can use."""
    if host in ("0.0.0.0", "::", ""):
        host = socket.gethostname()
        # A datagram socket finds out which of our addresses routes outside, without sending anything.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
            probe.connect(("192.0.2.1", 9))
            host = str(probe.getsockname()[0])
    return f"[{host}]" if ":" in host else host


# Files that a run may need for itself, a generous estimate: about twenty, and more with each worker.
_RUN_FILES = 200
# With fewer, a run would fail at some later moment.
_LEAST_RUN_FILES = 32


def max_sockets(wanted: int, share: int, files: int = 0) -> int:
    """How many of the wanted connections a server may hold.

    Viewers must not keep the run from opening a file.

    Args:
        share: If the limit is low, the server gets one part in ``share`` of it; otherwise all but a reserve.
        files: Maximum number of files that the rooms of the server write at the same time.

    Raises:
        UsageError: when the system permits too few open files for those of the rooms.
    """
    reserved = _RUN_FILES + files
    allowed = _allowed_files(wanted + reserved)
    if files and allowed - allowed // share < files + _LEAST_RUN_FILES:
        needed = (files + _LEAST_RUN_FILES) * share // (share - 1) + 1
        raise UsageError(
            f"the rooms write {files} files at the same time, and this process may open only {allowed}; "
            f"raise that limit (ulimit -n {needed}), lower translate.rooms, or leave out rooms.folder"
        )
    return max(1, min(wanted, max(allowed - reserved, allowed // share)))


def _allowed_files(wanted: int) -> int:
    """How many of the wanted files may be open; the limit is raised as far as the system permits."""
    if sys.platform == "win32":
        return wanted  # on Windows, a socket is not a file
    import resource

    allowed, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY or allowed >= wanted:
        return wanted
    more = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
        return more
    return allowed
