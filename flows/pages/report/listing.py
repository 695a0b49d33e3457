"""The page's table of segments."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from flows.pages.report.roll import snippet
from flows.pages.report.segments import Pair, SegmentDetail, verdict
from flows.pages.table import number

#: Maximum number of rows.
MAX_LISTED = 1000


class TableCell(NamedTuple):
    """A cell of the table: its text, and its sort key."""

    text: str
    order: float | str
    kind: str = ""


class ListedSegment(NamedTuple):
    """A row of the table."""

    #: Number of the segment's drawing; None if there is none.
    id: str | None
    name: str
    order: int
    cells: tuple[TableCell, ...]
    text: str


def columns(pairs: Sequence[Pair], names: Sequence[str]) -> list[str]:
    """The column headings of the table, except the first and the last."""
    timed = any(pair.any.start_s is not None for pair in pairs)
    each = [f" {name}" for name in names] if len(names) > 1 else [""]
    made = ["begins"] if timed else []
    for head in (
        "updates",
        "erased",
        *([] if len(names) == 1 else ["difference"]),
        "NE shown",
        "NE raw",
        "latency",
    ):
        made += [head] if head == "difference" else [f"{head}{name}" for name in each]
    return made + ([f"lag{name}" for name in each] if timed else [])


def listed(pairs: Sequence[Pair], drawn: Mapping[int, SegmentDetail]) -> list[ListedSegment]:
    """The rows of the table."""
    timed = any(pair.any.start_s is not None for pair in pairs)
    return [
        ListedSegment(
            id=drawn[place].id if place in drawn else None,
            name=pair.name,
            order=place,
            cells=tuple(_cells(pair, timed)),
            text=snippet(pair.any.text or ""),
        )
        for place, pair in enumerate(pairs[:MAX_LISTED])
    ]


def _cells(pair: Pair, timed: bool) -> list[TableCell]:
    def each(name: str, digits: int, unit: str = "") -> list[TableCell]:
        return [_cell(None if one is None else getattr(one, name), digits, unit) for one in pair.figures]

    made = [_cell(pair.any.start_s, 1, " s")] if timed else []
    made += [*each("updates", 0), *each("erased", 0)]
    if len(pair.figures) > 1:
        difference = pair.difference
        told = "–" if difference is None else f"{difference:+d}".replace("-", "−") if difference else "0"
        made.append(TableCell(told, "" if difference is None else difference, verdict(difference)))
    made += [
        *each("ne_shown", 2),
        *([] if len(pair.figures) > 1 else each("ne_raw", 2)),
        *each("latency_s", 2, " s"),
    ]
    return made + (each("lag_s", 2, " s") if timed else [])


def _cell(value: float | None, digits: int, unit: str) -> TableCell:
    return TableCell("–", "") if value is None else TableCell(f"{number(value, digits)}{unit}", value)
