"""A row of a load's results, and the table of all rows."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from flows.loadgen.memory import growth_mb
from flows.loadgen.target import Load, Meter
from flows.pages.table import Table, number
from operators.metrics.quantiles import milliseconds

_PLACES = {"flow": "the flow", "server": "the server", "Kafka": "a job, by Kafka"}


class Memory(NamedTuple):
    """Megabytes of whoever translates: before a load, after it, and meanwhile."""

    before_mb: float | None = None
    after_mb: float | None = None
    samples: Sequence[tuple[float, float]] = ()


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One number of rooms."""

    rooms: int
    #: What the load was put on: ``flow``, ``server`` or ``Kafka``.
    target: str
    seconds: float
    updates: int
    finals: int
    updates_per_second: float
    #: Delay of captions: from a partial, or else from the end of the speech, until its caption was there.
    p50_ms: float | None
    p95_ms: float | None
    #: Partials that newer ones overtook, segments without a final, and rooms that were not admitted.
    dropped: int
    lost: int
    refused: int
    #: Rooms whose captions ended before the last one: the server or the connection was gone, or too slow.
    cut: int = 0
    #: Memory of whoever translates, at the end and for each room more than before the load.
    memory_mb: float | None
    memory_mb_per_room: float | None
    #: By how much it grew from the second quarter of the load to the last one.
    memory_growth_mb: float | None
    #: Median delay over time: seconds since the beginning, and milliseconds.
    over_time: list[tuple[float, float]]
    #: Memory over time: seconds since the beginning, and megabytes.
    memory_over_time: list[tuple[float, float]]


def row_of(target: str, load: Load, meter: Meter, memory: Memory) -> Row:
    """The row of one load."""
    counts = meter.counts
    before_mb, after_mb, samples = memory
    each = None if before_mb is None or after_mb is None else (after_mb - before_mb) / load.rooms
    return Row(
        rooms=load.rooms,
        target=target,
        seconds=load.seconds,
        updates=counts.updates,
        finals=counts.finals,
        updates_per_second=round(counts.updates / load.seconds, 2),
        p50_ms=milliseconds(meter.lags_s, 0.5),
        p95_ms=milliseconds(meter.lags_s, 0.95),
        dropped=counts.dropped,
        lost=counts.lost,
        refused=counts.refused,
        cut=counts.cut,
        memory_mb=_rounded(after_mb),
        memory_mb_per_room=_rounded(each),
        memory_growth_mb=_rounded(growth_mb(samples)),
        over_time=[(round(at, 1), round(1000 * lag, 1)) for at, lag in meter.over_time()],
        memory_over_time=[(round(at, 1), round(mb, 1)) for at, mb in samples],
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def table(rows: Sequence[Row]) -> Table:
    """The table of all rows."""
    columns = (
        "rooms", "updates/s", "p50 ms", "p95 ms", "updates", "finals", "dropped", "lost", "refused", "cut",
        "memory MB", "MB/room", "growth MB",
    )  # fmt: skip
    return Table(
        f"load on {_PLACES.get(rows[0].target, rows[0].target)}" if rows else "load",
        columns,
        tuple(
            (
                str(row.rooms),
                number(row.updates_per_second, 1),
                number(row.p50_ms, 0),
                number(row.p95_ms, 0),
                str(row.updates),
                str(row.finals),
                str(row.dropped),
                str(row.lost),
                str(row.refused),
                str(row.cut),
                number(row.memory_mb, 0),
                number(row.memory_mb_per_room, 1),
                number(row.memory_growth_mb, 1),
            )
            for row in rows
        ),
        notes=(
            "p50, p95: delay of captions, from the partial, or from the speech if sound was sent",
            "dropped: overtaken partials; lost: segments that never got their final; refused: rooms",
            "cut: rooms whose captions ended before the last one",
            "growth: of the memory, from the second quarter of the load to the last one",
        ),
    )
