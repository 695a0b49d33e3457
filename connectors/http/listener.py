"""A listening socket, and the address to show for it."""

import contextlib
import os
import socket

from operators.errors import OutputError

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
        known = isinstance(error, OSError) and not isinstance(error, socket.gaierror) and error.errno
        reason = os.strerror(known) if known else "there is no such name or address"
        raise OutputError(f"{what} cannot be served at {host}:{port}: {reason}; {instead}") from None
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
    return listener


def shown(host: str) -> str:
    """The form of ``host`` that a browser on another machine can use."""
    if host in ("0.0.0.0", "::", ""):
        host = _own_address() or socket.gethostname()
    return f"[{host}]" if ":" in host else host


def _own_address() -> str | None:
    # A datagram socket finds out which of our addresses routes outside, without sending anything.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(("192.0.2.1", 9))
        return str(probe.getsockname()[0])
    return None
