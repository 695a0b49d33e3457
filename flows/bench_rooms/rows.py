"""A row of the benchmark of rooms, and the table of all rows."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from flows.pages.table import Table, number
from operators.metrics.quantiles import milliseconds
from operators.serving.live import Lived
from operators.serving.scheduler import Load

Mode = Literal["batched", "alone", "flow"]
MODES: tuple[Mode, ...] = ("batched", "alone", "flow")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A number of rooms, translated together (``batched``) or one after the other (``alone``).

    In a ``flow`` they are translated together by the translate stage of a run.
    """

    rooms: int
    mode: Mode
    #: Whether the clock was driven by a table of costs.
    simulated: bool
    #: Tokens of all translations per second, from the first update to the end of the last one.
    tokens_per_second: float
    #: Seconds from the arrival of an update until it was translated; absent if none was.
    p50_ms: float | None
    p95_ms: float | None
    #: Number of partials that newer updates have overtaken.
    dropped: int
    #: Number of translated updates, and of finals among them.
    updates: int
    finals: int
    #: Mean number of requests that a pass answered, and of tokens that it evaluated.
    requests_per_pass: float
    tokens_per_pass: float
    #: Memory of the process; absent if rooms are simulated, or if the system does not report it.
    memory_mb: float | None


def row_of(
    rooms: int, mode: Mode, lived: Lived, load: Load, memory_mb: float | None, *, simulated: bool
) -> Row:
    """The row of a run."""
    return Row(
        rooms=rooms,
        mode=mode,
        simulated=simulated,
        tokens_per_second=round(lived.tokens / lived.seconds, 2) if lived.seconds else 0.0,
        p50_ms=milliseconds(lived.latencies_s, 0.5),
        p95_ms=milliseconds(lived.latencies_s, 0.95),
        dropped=lived.dropped,
        updates=lived.updates,
        finals=lived.finals,
        requests_per_pass=round(load.requests / max(1, load.passes), 2),
        tokens_per_pass=round(load.tokens / max(1, load.passes), 2),
        memory_mb=None if memory_mb is None else round(memory_mb, 1),
    )


def table(rows: Sequence[Row]) -> Table:
    """The table of all rows."""
    return Table(
        "rooms",
        (
            "rooms, mode", "tokens/s", "p50 ms", "p95 ms", "dropped", "updates", "finals", "requests/pass",
            "tokens/pass", "memory MB",
        ),
        tuple(
            (
                f"{row.rooms}, {row.mode}{', simulated' if row.simulated else ''}",
                number(row.tokens_per_second, 1),
                number(row.p50_ms, 0),
                number(row.p95_ms, 0),
                str(row.dropped),
                str(row.updates),
                str(row.finals),
                number(row.requests_per_pass, 1),
                number(row.tokens_per_pass, 1),
                number(row.memory_mb, 0),
            )
            for row in rows
        ),
        notes=(
            "tokens/s: of all translations; p50, p95: from the arrival of an update to its translation",
            "dropped: partials that newer updates have overtaken; finals never are",
        ),
    )  # fmt: skip
