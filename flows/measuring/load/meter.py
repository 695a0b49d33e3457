"""What comes back from a load, and its row and table."""

from array import array
from collections import Counter
from collections.abc import Sequence
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from flows.pages.table import Column, Table, tabulated


class Load(NamedTuple):
    """How many rooms speak, and for how long."""

    rooms: int
    seconds: float


#: A row of the ``--json`` file.
Row = dict[str, Any]


class Meter:
    """Counts what comes back from a load; thread-safe."""

    def __init__(self) -> None:
        """Nothing has come back yet."""
        self._lock = Lock()
        #: By the names of a row.
        self.counts = Counter[str]()
        self.lags_s = array("d")

    def caption(self, lag_s: float, *, is_final: bool) -> None:
        """A caption came with this delay."""
        with self._lock:
            self.counts.update(updates=1, finals=is_final)
            self.lags_s.append(lag_s)

    def add(self, **more: int) -> None:
        """Count what did not come, by the names of a row."""
        with self._lock:
            self.counts.update(more)


_COUNTED = ("updates", "finals", "dropped", "lost", "refused", "cut")


def row_of(load: Load, meter: Meter, target: str, memory_mb: float | None) -> Row:
    """The row of one load.

    Delays are of captions: from a partial, or else from the end of the speech, until its caption was there.
    """
    p50_ms, p95_ms = None, None
    if meter.lags_s:
        p50_ms, p95_ms = (round(1000 * float(one), 1) for one in np.percentile(meter.lags_s, [50, 95]))
    return {
        "rooms": load.rooms,
        "target": target,
        "seconds": load.seconds,
        **{name: meter.counts[name] for name in _COUNTED},
        "updates_per_second": round(meter.counts["updates"] / load.seconds, 2),
        "p50_ms": p50_ms,
        "p95_ms": p95_ms,
        "memory_mb": None if memory_mb is None else round(memory_mb, 1),
    }


_COLUMNS = (
    Column("rooms", "rooms"),
    Column("updates/s", "updates_per_second", 1),
    Column("p50 ms", "p50_ms", 0),
    Column("p95 ms", "p95_ms", 0),
    *(Column(name, name) for name in _COUNTED),
    Column("memory MB", "memory_mb", 0),
)
_NOTES = (
    "p50, p95: delay of captions, from the partial, or from the speech if sound was sent",
    "dropped: overtaken partials; lost: segments that never got their final; refused: rooms",
    "cut: rooms whose captions ended before the last one",
)


def table(rows: Sequence[Row]) -> Table:
    """The table of all rows."""
    return tabulated(f"load on the {rows[0]['target']}", rows, _COLUMNS, notes=_NOTES)
