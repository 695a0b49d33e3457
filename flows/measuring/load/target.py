"""What a load is put on, and what is measured of it: captions, and the memory of the process over time."""

import math
import re
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from threading import Event as Flag
from threading import Lock, Thread, Timer
from time import monotonic
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit, urlunsplit

from flows.measuring.playback import Load
from operators.errors import InputError
from operators.metrics.quantiles import Quantiles

#: Number of stretches of time in which the lag is also measured on its own: it shows whether the lag grows.
STRETCHES = 20


class Counts(NamedTuple):
    """What came of a load."""

    updates: int = 0
    finals: int = 0
    #: Partials that newer ones overtook.
    dropped: int = 0
    #: Segments that never got their final.
    lost: int = 0
    #: Rooms that were not admitted.
    refused: int = 0
    #: Rooms whose captions ended before the last one.
    cut: int = 0


class Meter:
    """Counts what comes back from a load; thread-safe."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = Lock()
        self._counts = Counter[str]()
        self.lags_s = Quantiles()
        self._stretches = [Quantiles() for _ in range(STRETCHES)]

    def caption(self, at_s: float, lag_s: float, *, is_final: bool) -> None:
        """A caption came ``at_s`` seconds after the load began, with this delay."""
        place = int(STRETCHES * at_s / self._seconds)
        with self._lock:
            self._counts.update(updates=1, finals=is_final)
            self.lags_s.add(lag_s)
            self._stretches[min(max(place, 0), STRETCHES - 1)].add(lag_s)

    def add(self, **more: int) -> None:
        """Count what did not come, by the names of `Counts`."""
        with self._lock:
            self._counts.update(more)

    @property
    def counts(self) -> Counts:
        """All that was counted."""
        return Counts(**self._counts)

    def over_time(self) -> list[tuple[float, float]]:
        """Median lag of each stretch of time that had captions: its middle and the lag, in seconds."""
        width = self._seconds / STRETCHES
        return [
            ((place + 0.5) * width, lags.at(0.5)[0])
            for place, lags in enumerate(self._stretches)
            if lags.count
        ]


class Target(Protocol):
    """Takes a load."""

    #: Its name in tables.
    name: str

    def run(self, load: Load, meter: Meter) -> None:
        """Let all rooms speak for the time of the load, and wait a bounded time for the last captions.

        Raises:
            SurtitleError: when nothing can be measured.
        """
        ...

    def memory_mb(self) -> float | None:
        """Megabytes of the process that translates, now; None if unknown."""
        ...


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
