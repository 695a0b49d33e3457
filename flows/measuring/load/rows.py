"""What is measured of a load: captions that come back, and memory; its row and table."""

import math
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPException
from threading import Event as Flag
from threading import Lock, Thread
from time import monotonic
from typing import Any, NamedTuple
from urllib.request import Request, urlopen

import numpy as np

from flows.measuring.load.playback import Load
from flows.pages.table import Column, Table, tabulated
from operators.addresses import parts_of, without_user
from operators.errors import InputError

#: A row of the ``--json`` file.
Row = dict[str, Any]
# Stretches of time whose delays are also measured on their own: they show whether the delay grows.
_STRETCHES = 20
# How often the memory is sampled in a load.
_SAMPLES = 40
# Seconds for metrics to come, and bytes that are read of them.
_TIMEOUT_S, _MAX_BYTES = 5.0, 4 * 1024 * 1024
_MEMORY = re.compile(r"^process_resident_memory_bytes (\S+)", re.MULTILINE)


class Meter:
    """Counts what comes back from a load; thread-safe."""

    def __init__(self) -> None:
        """Nothing has come back yet."""
        self._lock = Lock()
        #: By the names of a row.
        self.counts = Counter[str]()
        self.at_s, self.lags_s = array("d"), array("d")

    def caption(self, at_s: float, lag_s: float, *, is_final: bool) -> None:
        """A caption came ``at_s`` seconds after the load began, with this delay."""
        with self._lock:
            self.counts.update(updates=1, finals=is_final)
            self.at_s.append(at_s)
            self.lags_s.append(lag_s)

    def add(self, **more: int) -> None:
        """Count what did not come, by the names of a row."""
        with self._lock:
            self.counts.update(more)


class Target(NamedTuple):
    """What a load is put on."""

    name: str
    #: Lets all rooms speak, and waits a bounded time for the last captions.
    run: Callable[[Load, Meter], None]
    #: Megabytes of the process that translates, now; None if unknown.
    memory_mb: Callable[[], float | None]


def measured(target: Target, load: Load) -> Row:
    """The row of one load. Raises `SurtitleError` when nothing can be measured."""
    meter = Meter()
    with _sampled(target.memory_mb, load.seconds / _SAMPLES) as memory:
        target.run(load, meter)
    return row_of(target.name, load, meter, memory)


@contextmanager
def _sampled(memory_mb: Callable[[], float | None], every_s: float) -> Iterator[list[tuple[float, float]]]:
    """Sample the memory before, inside and after the block: seconds and megabytes, none if nobody knows."""
    began_s, over, before = monotonic(), Flag(), memory_mb()
    samples = [] if before is None else [(0.0, before)]

    def sample() -> None:
        # Metrics that give no answer once may give the next one.
        with suppress(InputError):
            if (memory := memory_mb()) is not None:
                samples.append((monotonic() - began_s, memory))

    def watch() -> None:
        while samples and not over.wait(every_s):
            sample()

    thread = Thread(target=watch, name="memory", daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        over.set()
        thread.join()
    if samples:
        sample()


def read_memory_mb(metrics: str) -> float | None:
    """Megabytes of memory, by the metrics at an address; None if the system does not report them.

    Raises:
        InputError: when there are no metrics.
    """
    parts = parts_of(metrics)
    if parts is None or parts.scheme not in ("http", "https"):
        raise InputError(f"{metrics} gives no metrics; check --server-metrics")
    try:
        address, headers = without_user(metrics)
        with urlopen(Request(address, headers=headers), timeout=_TIMEOUT_S) as answer:
            found = _MEMORY.search(answer.read(_MAX_BYTES).decode())
        memory_mb = float(found[1]) / 1e6 if found else None
    except (OSError, ValueError, HTTPException):
        raise InputError(f"{metrics} gives no metrics; check --server-metrics") from None
    return memory_mb if memory_mb is None or math.isfinite(memory_mb) else None


def row_of(target: str, load: Load, meter: Meter, memory: Sequence[tuple[float, float]]) -> Row:
    """The row of one load.

    Delays are of captions: from a partial, or else from the end of the speech, until its caption was there.
    """
    p50_ms, p95_ms = _percentiles_ms(meter.lags_s)
    mb = [one for _, one in memory]
    quarter = len(mb) // 4
    grown = (np.mean(mb[-quarter:]) - np.mean(mb[quarter : 2 * quarter])) if quarter else None
    return {
        "rooms": load.rooms,
        "target": target,
        "seconds": load.seconds,
        **{name: meter.counts[name] for name in _COUNTED},
        "updates_per_second": round(meter.counts["updates"] / load.seconds, 2),
        "p50_ms": p50_ms,
        "p95_ms": p95_ms,
        "memory_mb": round(mb[-1], 1) if mb else None,
        "memory_mb_per_room": round((mb[-1] - mb[0]) / load.rooms, 1) if mb else None,
        # From the second quarter on: in the first one everything is used for the first time.
        "memory_growth_mb": None if grown is None else round(float(grown), 1),
        "over_time": _over_time(meter, load.seconds),
        "memory_over_time": [(round(at, 1), round(one, 1)) for at, one in memory],
    }


def _over_time(meter: Meter, seconds: float) -> list[tuple[float, float]]:
    """The middle of each stretch of time that had captions, in seconds, and their median delay in ms."""
    lags_s, width = np.array(meter.lags_s), seconds / _STRETCHES
    places = np.clip(np.array(meter.at_s) / width, 0, _STRETCHES - 1).astype(int)
    return [
        (round((place + 0.5) * width, 1), round(1000 * float(np.median(lags_s[places == place])), 1))
        for place in sorted({*places.tolist()})
    ]


def _percentiles_ms(lags_s: Sequence[float]) -> tuple[float | None, float | None]:
    if not lags_s:
        return None, None
    p50, p95 = (round(1000 * float(one), 1) for one in np.percentile(lags_s, [50, 95]))
    return p50, p95


_COUNTED = ("updates", "finals", "dropped", "lost", "refused", "cut")
_COLUMNS = (
    Column("rooms", "rooms"),
    Column("updates/s", "updates_per_second", 1),
    Column("p50 ms", "p50_ms", 0),
    Column("p95 ms", "p95_ms", 0),
    *(Column(name, name) for name in _COUNTED),
    Column("memory MB", "memory_mb", 0),
    Column("MB/room", "memory_mb_per_room", 1),
    Column("growth MB", "memory_growth_mb", 1),
)
_NOTES = (
    "p50, p95: delay of captions, from the partial, or from the speech if sound was sent",
    "dropped: overtaken partials; lost: segments that never got their final; refused: rooms",
    "cut: rooms whose captions ended before the last one",
    "growth: of the memory, from the second quarter of the load to the last one",
)


def table(rows: Sequence[Row]) -> Table:
    """The table of all rows."""
    return tabulated(f"load on the {rows[0]['target']}", rows, _COLUMNS, notes=_NOTES)
