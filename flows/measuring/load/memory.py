"""Memory of the process under load, read from its metrics, and over time."""

import math
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from threading import Event as Flag
from threading import Thread, Timer
from time import monotonic
from urllib.parse import urlsplit, urlunsplit

from operators.errors import InputError

#: Seconds since a load began, and megabytes.
Samples = list[tuple[float, float]]

# Seconds for an answer, and the bytes that are read of it.
_TIMEOUT_S = 5.0
_MAX_BYTES = 4 * 1024 * 1024
_MEMORY = re.compile(r"^process_resident_memory_bytes (\S+)", re.MULTILINE)


def told_memory_mb(metrics: str) -> float | None:
    """Megabytes of memory, by the metrics at an address; None if the system does not report them.

    Raises:
        InputError: when there are no metrics.
    """
    try:
        found = _MEMORY.search(_answer(metrics))
        memory_mb = float(found[1]) / 1e6 if found else None
    except (OSError, ValueError, HTTPException):
        raise InputError(f"{metrics} gives no metrics; check --server-metrics") from None
    return memory_mb if memory_mb is None or math.isfinite(memory_mb) else None


def _answer(address: str) -> str:
    """What is at an address, within bounds: it may be something else that never ends."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("no address of HTTP")
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    with closing(kind(parts.hostname, parts.port, timeout=_TIMEOUT_S)) as connection:
        connection.connect()
        # The timeout of a socket is for each of its bytes.
        is_cut = Flag()
        over = Timer(_TIMEOUT_S, _cut, [connection.sock, is_cut])
        over.daemon = True
        over.start()
        try:
            connection.request("GET", urlunsplit(("", "", parts.path or "/", parts.query, "")))
            told = connection.getresponse().read(_MAX_BYTES).decode()
            if is_cut.is_set():
                raise TimeoutError("it did not end")
            return told
        finally:
            over.cancel()


def _cut(connected: socket.socket, is_cut: Flag) -> None:
    # Before the reader notices: what it has read until then looks like a whole answer.
    is_cut.set()
    with suppress(OSError):
        connected.shutdown(socket.SHUT_RDWR)


@contextmanager
def sampled(memory_mb: Callable[[], float | None], every_s: float) -> Iterator[Samples]:
    """Sample the memory inside the block; the list grows meanwhile. It stays empty if nobody knows."""
    samples, over = Samples(), Flag()

    def sample() -> None:
        began_s = monotonic()
        while not over.wait(every_s):
            # Metrics that give no answer once may give the next one.
            with suppress(InputError):
                memory = memory_mb()
                if memory is None:
                    return
                samples.append((monotonic() - began_s, memory))

    thread = Thread(target=sample, name="memory", daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        over.set()
        thread.join()


def growth_mb(samples: Sequence[tuple[float, float]]) -> float | None:
    """By how much the memory grew from the second quarter of a load to its last one; None if unknown.

    In the first quarter, everything is used for the first time.
    """
    quarter = len(samples) // 4
    if not quarter:
        return None
    second, last = samples[quarter : 2 * quarter], samples[-quarter:]
    return sum(mb for _, mb in last) / quarter - sum(mb for _, mb in second) / quarter
