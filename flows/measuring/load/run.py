"""Runs loads one after the other: what one is put on, what is measured of it, its row, table and plot."""

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
from urllib.parse import urlunsplit

import msgspec

from flows.measuring.load.playback import Load
from flows.measuring.results import Results, Runner
from flows.measuring.signature import sign
from flows.pages.drawing import COLOURS, Panel, Points, picture, up_to
from flows.pages.table import Column, Table, tabulated
from operators.addresses import parts_of, without_user
from operators.errors import InputError, SurtitleError
from operators.metrics.quantiles import Quantiles, milliseconds

#: Number of stretches of time in which the lag is also measured on its own: it shows whether the lag grows.
STRETCHES = 20


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
        """Count what did not come, by the names of `LoadRow`."""
        with self._lock:
            self._counts.update(more)

    @property
    def counts(self) -> Counter[str]:
        """All that was counted."""
        return Counter(self._counts)

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
    parts = parts_of(address)
    if parts is None or parts.scheme not in ("http", "https"):
        raise ValueError("no address of HTTP")
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    with closing(kind(parts.hostname or "", parts.port, timeout=_TIMEOUT_S)) as connection:
        connection.connect()
        # The timeout of a socket is for each of its bytes.
        is_cut = Flag()
        over = Timer(_TIMEOUT_S, _cut, [connection.sock, is_cut])
        over.daemon = True
        over.start()
        try:
            path = urlunsplit(("", "", parts.path or "/", parts.query, ""))
            connection.request("GET", path, headers=without_user(address)[1])
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


# How often the memory is sampled in a load.
_SAMPLES = 40


class LoadRow(msgspec.Struct, frozen=True, kw_only=True):
    """One number of rooms."""

    rooms: int
    #: What the load was put on: ``flow`` or ``server``.
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
        **{name: meter.counts[name] for name in _COUNTED},
        updates_per_second=round(meter.counts["updates"] / load.seconds, 2),
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


def table(rows: Sequence[LoadRow]) -> Table:
    """The table of all rows."""
    title = f"load on the {rows[0].target}" if rows else "load"
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
