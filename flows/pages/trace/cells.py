"""The result of a pass at each position that it looked at, for a picture."""

from enum import Enum
from typing import NamedTuple

from flows.pages.trace.picture import Labels
from operators.decoding.forward import Origin
from operators.decoding.trace import Decoding, LogitsRow


class PlaceState(Enum):
    """What a pass decided about a position."""

    #: The offered token was accepted: it is the model's choice, or the rule accepted it although it is not.
    ACCEPTED = "accepted: also the model’s own choice"
    ACCEPTED_BY_RULE = "accepted, although the model would have chosen another"
    #: The offered token was rejected and replaced by the model's choice.
    CORRECTED = "rejected, and replaced by the model’s choice"
    #: Nothing was offered.
    OWN = "the model’s own next token"
    #: Decided, but cut from the output because that had begun to repeat itself.
    CUT = "decided, then cut: the output repeated itself"
    #: The output ends here.
    END = "the model ended the output"
    #: Offered after a rejected token.
    GUESS = "proposed after the divergence: nothing decided"


#: The forms that need explaining, by their class.
FORMS = {
    PlaceState.ACCEPTED_BY_RULE: ("leaned", "accepted, although the model’s choice (≠) was another"),
    PlaceState.CORRECTED: ("fell", "proposed and rejected"),
    PlaceState.GUESS: ("guess", "proposed after the divergence, nothing decided (→ the model’s guess)"),
    PlaceState.CUT: ("cut-off", "cut: the output repeated itself"),
    PlaceState.END: ("end", "the output ends"),
}


class GridCell(NamedTuple):
    """The drawing of one row of logits."""

    state: PlaceState
    row: LogitsRow
    #: The displayed token, and the one on the second line after a mark; None if there is none.
    token: int | None
    second: int | None
    mark: str
    origin: Origin


def cells(one: Decoding) -> list[dict[int, GridCell]]:
    """For each pass, the cells of the positions that it looked at and that have something to show."""
    made: list[dict[int, GridCell]] = []
    for each in one.passes:
        looked: dict[int, GridCell] = {}
        for place, row in enumerate(each.rows, each.begin):
            origin = one.output[place].origin if place < len(one.output) else None
            cell = _cell(row, origin)
            if cell is not None:
                looked[place] = cell
        made.append(looked)
    return made


def _cell(row: LogitsRow, origin: Origin | None) -> GridCell | None:
    if row.ends:
        return GridCell(PlaceState.END, row, None, row.offered, "", Origin.OWN)
    if row.stands is None:
        if row.offered is None:
            return None
        other = None if row.choice == row.offered else row.choice
        return GridCell(PlaceState.GUESS, row, row.offered, other, "→ ", Origin.OWN)
    if origin is None:
        return GridCell(PlaceState.CUT, row, row.stands, None, "", Origin.OWN)
    if row.offered is None:
        return GridCell(PlaceState.OWN, row, row.stands, None, "", Origin.OWN)
    if row.offered != row.stands:
        return GridCell(PlaceState.CORRECTED, row, row.stands, row.offered, "", Origin.OWN)
    if row.choice == row.stands:
        return GridCell(PlaceState.ACCEPTED, row, row.stands, None, "", origin)
    return GridCell(PlaceState.ACCEPTED_BY_RULE, row, row.stands, row.choice, "≠ ", origin)


def cell_words(cell: GridCell, labels: Labels) -> str:
    """The description of a cell in words."""
    row = cell.row
    choice = f"the model’s choice “{labels.of(row.choice).text}” {row.p_choice:.2f}"
    if row.offered is None:
        return f"{cell.state.value}, {choice}"
    p = "" if row.p_offered is None else f" {row.p_offered:.2f}"
    return f"“{labels.of(row.offered).text}”{p} {cell.state.value}; {choice}"
