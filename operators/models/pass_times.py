"""The cost of a pass on this machine by its size, measured once because it cannot be predicted."""

from collections.abc import Callable, Sequence
from statistics import median

import msgspec

from operators.decoding.pass_cost import PassCosts
from operators.models.tuning import MAX_SPREAD, MIN_GAIN, TURNS

#: Sizes of the measured passes, in tokens.
PASS_SIZES = (1, 2, 3, 4, 8, 12, 16, 24, 32)
#: Sizes where many segments share a pass; the size is doubled for as long as that pays.
FILL_SIZES = (1, 2, 4, 8, 16, 32)
#: Positions with logits that are tried; a tile has four. A pass with exactly that many tokens tells as much
#: as a larger one, and takes less time.
ROWS = (9, 10, 11, 12)
#: Passes that tell what keeping tokens costs and saves: over a source, and over a long draft as well.
_LEAD, _LONG = 8, 40
#: Stands for the pass that turns keys.
_TURNED = 0
#: Repetitions of each measurement; few are enough because the effect is large.
_ROW_TURNS = 3


class RowStep(msgspec.Struct, frozen=True):
    """The step in row counts at which one model computes logits fastest on one machine."""

    rows: int
    is_steady: bool = True


def measure_row_step(seconds: Callable[[int], float]) -> RowStep:
    """Find whether computing extra logits rows is cheaper; ``seconds`` times a pass with that many rows.

    llama.cpp multiplies the output head in tiles of several rows, and the remaining rows one by one. On one
    processor 15 rows took 93 ms and 16 took 69.
    """
    (*rest, whole), is_steady = _least(ROWS, seconds, _ROW_TURNS)
    mean = sum(rest) / len(rest)
    return RowStep(4 if whole < (1 - MIN_GAIN) * mean else 1, is_steady)


class KeepCosts(msgspec.Struct, frozen=True):
    """What it costs to keep tokens behind a prompt that has grown, in milliseconds.

    The default has the ratios of the default model on two cores.
    """

    #: What it costs to evaluate the source in a pass of its own.
    lead_ms: float = 6.0
    #: Turning the keys of a cache of 1,024 cells.
    turn_ms: float = 14.0
    #: A token more in a pass, without logits: what each kept token saves.
    token_ms: float = 1.0
    is_steady: bool = True

    def least(self, cells: int) -> int:
        """The number of kept tokens from which on keeping pays, in a cache of so many cells."""
        cost_ms = self.lead_ms + self.turn_ms * cells / TURNED_CELLS
        return 1 + int(cost_ms / max(self.token_ms, 1e-6))


#: Cells of the cache in which turning is measured.
TURNED_CELLS = 1024


def measure_keep(seconds: Callable[[int], float], turned_s: Callable[[], float]) -> KeepCosts:
    """Measure what keeping costs and saves.

    ``seconds`` times a pass over so many tokens, with the logits of none, and ``turned_s`` one over one token
    that turns the keys of all cells first.
    """
    sizes = (_TURNED, 1, _LEAD, _LONG)
    (turned, one, lead, long), is_steady = _least(
        sizes, lambda size: turned_s() if size == _TURNED else seconds(size), TURNS
    )
    if not is_steady:
        return KeepCosts(is_steady=False)
    token = max(0.0, long - lead) / (_LONG - _LEAD)
    return KeepCosts(1000 * max(0.0, lead - _LEAD * token), 1000 * max(0.0, turned - one), 1000 * token)


def measure_costs(seconds: Callable[[int], float], sizes: Sequence[int] = PASS_SIZES) -> PassCosts:
    """Measure the cost of passes by their number of tokens; ``seconds`` times one pass.

    A larger pass never costs less: if it seems to, the machine was busy during the smaller one.
    """
    least, is_steady = _least(sizes, seconds, TURNS)
    return _costs(sizes, least, is_steady=is_steady)


def measure_fill(seconds: Callable[[int], float], largest: int) -> PassCosts:
    """Measure passes shared by many segments, up to the size at which the cost per token stops falling.

    No pass has more than ``largest`` tokens.
    """
    sizes = [size for size in FILL_SIZES if size <= largest]
    least, is_steady = _least(sizes, seconds, TURNS)
    while 2 * sizes[-1] <= largest and _still_falls(sizes, least):
        sizes.append(2 * sizes[-1])
        least.append(min(seconds(sizes[-1]) for _ in range(_ROW_TURNS)))
    return _costs(sizes, least, is_steady=is_steady)


def _still_falls(sizes: Sequence[int], least: Sequence[float]) -> bool:
    """Whether a token of the largest pass is clearly cheaper than one of the next smaller pass."""
    return len(sizes) < 2 or least[-1] / sizes[-1] < (1 - MIN_GAIN) * least[-2] / sizes[-2]


def _costs(sizes: Sequence[int], least: Sequence[float], *, is_steady: bool) -> PassCosts:
    ms = [1000 * min(least[place:]) for place in range(len(least))]
    return PassCosts(tuple(sizes), tuple(ms), is_steady)


def _least(sizes: Sequence[int], seconds: Callable[[int], float], turns: int) -> tuple[list[float], bool]:
    """The minimum seconds for each size, measured in turns, and whether the machine was steady meanwhile."""
    times: dict[int, list[float]] = {size: [] for size in sizes}
    for turn in range(turns + 1):
        for size, own in times.items():
            own.append(seconds(size))
        if turn == 0:
            for own in times.values():
                own.clear()  # the first turn includes set-up
    is_steady = all(median(own) < MAX_SPREAD * min(own) for own in times.values())
    return [min(own) for own in times.values()], is_steady
