"""Runs loads one after the other; their rows, table and plot."""

from collections.abc import Sequence
from typing import NamedTuple

from flows.measuring.load.target import Meter, Target, growth_mb, sampled
from flows.measuring.playback import Load
from flows.measuring.plot import COLOURS, Panel, Points, picture, up_to
from flows.measuring.results import Column, Results, Row, Runner, tabulated
from flows.measuring.signature import sign
from flows.pages.table import Table
from operators.errors import InputError, SurtitleError
from operators.metrics.quantiles import milliseconds

# How often the memory is sampled in a load.
_SAMPLES = 40
_PLACES = {"flow": "the flow", "server": "the server", "Kafka": "a job, by Kafka"}


class LoadRow(Row, frozen=True, kw_only=True):
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
    #: Memory of the process that translates, at the end and for each room more than before the load.
    memory_mb: float | None
    memory_mb_per_room: float | None
    #: By how much it grew from the second quarter of the load to the last one.
    memory_growth_mb: float | None
    #: Median delay over time: seconds since the beginning, and milliseconds.
    over_time: list[tuple[float, float]]
    #: Memory over time: seconds since the beginning, and megabytes.
    memory_over_time: list[tuple[float, float]]


class Memory(NamedTuple):
    """Megabytes of the process that translates: before a load, after it, and meanwhile."""

    before_mb: float | None = None
    after_mb: float | None = None
    samples: Points = ()


def run_loads(
    target: Target, loads: Sequence[Load], recording: str, runner: Runner
) -> tuple[Results, SurtitleError | None]:
    """Put each load on the target. ``recording`` names what the rooms say.

    Returns the results, and the error that ended the loads after the first one, if any did.

    Raises:
        SurtitleError: when nothing can be measured.
        InterruptedRunError: after Ctrl-C.
    """
    rows = list[LoadRow]()
    failure: SurtitleError | None = None
    for load in loads:
        runner.doing(f"{load.rooms} rooms speak for {load.seconds:g} seconds", None)
        try:
            row = _row(target, load)
        except SurtitleError as error:
            failure = error
        runner.go_on()
        if failure is not None:
            break
        rows.append(row)
    runner.end()
    if failure is not None and not rows:
        raise failure
    return Results(sign(recording=recording), {"rows": rows}, [table(rows)]), failure


def _row(target: Target, load: Load) -> LoadRow:
    meter, before_mb = Meter(load.seconds), target.memory_mb()
    with sampled(target.memory_mb, load.seconds / _SAMPLES) as memory:
        target.run(load, meter)
    try:
        after_mb = target.memory_mb()
    except InputError:
        # What was measured does not depend on it.
        after_mb = None
    return row_of(target.name, load, meter, Memory(before_mb, after_mb, memory))


def row_of(target: str, load: Load, meter: Meter, memory: Memory) -> LoadRow:
    """The row of one load."""
    before_mb, after_mb, samples = memory
    each = None if before_mb is None or after_mb is None else (after_mb - before_mb) / load.rooms
    return LoadRow(
        rooms=load.rooms,
        target=target,
        seconds=load.seconds,
        **meter.counts._asdict(),
        updates_per_second=round(meter.counts.updates / load.seconds, 2),
        p50_ms=milliseconds(meter.lags_s, 0.5),
        p95_ms=milliseconds(meter.lags_s, 0.95),
        memory_mb=_rounded(after_mb),
        memory_mb_per_room=_rounded(each),
        memory_growth_mb=_rounded(growth_mb(samples)),
        over_time=[(round(at, 1), round(1000 * lag, 1)) for at, lag in meter.over_time()],
        memory_over_time=[(round(at, 1), round(mb, 1)) for at, mb in samples],
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


_COLUMNS = (
    Column("rooms", "rooms"),
    Column("updates/s", "updates_per_second", 1),
    Column("p50 ms", "p50_ms", 0),
    Column("p95 ms", "p95_ms", 0),
    *(Column(name, name) for name in ("updates", "finals", "dropped", "lost", "refused", "cut")),
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


def table(rows: Sequence[LoadRow]) -> Table:
    """The table of all rows."""
    title = f"load on {_PLACES.get(rows[0].target, rows[0].target)}" if rows else "load"
    return tabulated(title, rows, _COLUMNS, notes=_NOTES)


def plot(rows: Sequence[LoadRow]) -> str:
    """How late captions are with each number of rooms, and whether delay or memory grow, as an SVG file."""
    delays, memory = [row.over_time for row in rows], [row.memory_over_time for row in rows]
    up = up_to([*(row.p95_ms or 0.0 for row in rows), *_values(delays)])
    across = (0.0, max([1.0, *(row.seconds for row in rows)]))
    by_rooms = Panel("Delay of captions, ms, by rooms", (70, 440), (0, max(1, len(rows))), up)
    width = min(40.0, 370 / max(1, len(rows)) / 3)
    for place, row in enumerate(rows):
        by_rooms.name(place + 0.5, str(row.rooms))
        for number, (words, value) in enumerate((("p50", row.p50_ms), ("p95", row.p95_ms))):
            if value is not None:
                left, colour = (number - 1) * width, COLOURS[number]
                by_rooms.bar(place + 0.5, value, left=left, width=width, colour=colour, words=words)
    over_time = [Panel("Median delay over time, ms", (550, 850), across, up)]
    if any(memory):
        over_time.append(Panel("Memory over time, MB", (1030, 1330), across, up_to(_values(memory))))
    for panel, lines in zip(over_time, (delays, memory), strict=False):
        panel.number_across(" s", most=4)
        for place, points in enumerate(lines):
            panel.curve(points, COLOURS[place % len(COLOURS)])
    names = [f"{row.rooms} room{'' if row.rooms == 1 else 's'}" for row in rows]
    over_time[0].legend(((name, COLOURS[place % len(COLOURS)]) for place, name in enumerate(names)), 866)
    label = "; ".join(f"{row.rooms} rooms: p50 {row.p50_ms} ms, p95 {row.p95_ms} ms" for row in rows)
    return picture([by_rooms, *over_time], 1360 if any(memory) else 960, label, "load")


def _values(lines: Sequence[Points]) -> list[float]:
    return [value for points in lines for _, value in points]
