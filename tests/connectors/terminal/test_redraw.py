"""What is sent to a terminal whose rows change: what changed, and nothing else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.terminal.redraw import redraw
from connectors.view.rows import CaptionRow, row_width
from tests.connectors.terminal.emulator import SmallTerminal

row = st.builds(CaptionRow, st.text("ab 漢", max_size=6), st.text("ab 漢", max_size=6))
rows_of = st.lists(row, min_size=1, max_size=4)


def shown(rows: list[CaptionRow]) -> tuple[list[str], list[str]]:
    return [(row.plain + row.dim).rstrip() for row in rows], [row.dim.strip() for row in rows]


def written(before: CaptionRow, after: CaptionRow) -> str:
    """The characters that are drawn to get from one row to the other."""
    terminal = SmallTerminal()
    terminal.send(redraw([CaptionRow("")], [before]))
    terminal.written.clear()
    terminal.send(redraw([before], [after]))
    assert (terminal.rows, terminal.dim) == shown([after])
    return "".join(terminal.written)


@given(st.lists(rows_of, min_size=1, max_size=6), st.text("^C", max_size=3))
@settings(max_examples=100)
def test_redrawing_arrives_at_the_rows_whatever_was_there_and_was_typed(
    states: list[list[CaptionRow]], typed: str
) -> None:
    terminal, drawn = SmallTerminal(), [CaptionRow("")]
    for rows in states:
        terminal.send(typed if rows != drawn else "")
        terminal.send(redraw(drawn, rows))
        drawn = rows
        assert (terminal.rows, terminal.dim) == shown(rows)
        assert (terminal.row, terminal.column) == (len(rows) - 1, row_width(rows[-1]))


@given(row, row)
def test_no_cell_is_drawn_that_stays_as_it_is(before: CaptionRow, after: CaptionRow) -> None:
    def cells(row: CaptionRow) -> list[tuple[str, bool, int]]:
        text = row.plain + row.dim
        return [
            (char, at >= len(row.plain), row_width(CaptionRow(text[:at]))) for at, char in enumerate(text)
        ]

    there = set(cells(before))
    assert written(before, after) == "".join(cell[0] for cell in cells(after) if cell not in there)


def test_what_did_not_change_costs_nothing() -> None:
    assert redraw([CaptionRow("Es", " war")], [CaptionRow("Es", " war")]) == ""
    assert redraw([CaptionRow("Es")], [CaptionRow("Es war")]) == "\r\x1b[2C\x1b[K\r\x1b[2C war\r\x1b[6C"


@pytest.mark.parametrize("unsure", ["❤️", "हिन्दी", "👩\u200d👩\u200d👧"])
def test_a_row_is_drawn_from_where_terminals_disagree_about_widths(unsure: str) -> None:
    assert redraw([CaptionRow(f"a {unsure} b")], [CaptionRow(f"a {unsure} c")]).endswith(
        f"\r\x1b[2C{unsure} c\x1b[K\r\x1b[{row_width(CaptionRow(f'a {unsure} c'))}C"
    )
