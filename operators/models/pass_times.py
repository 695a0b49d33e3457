"""What a pass costs here by its size: measured once, for decisions that no rule could take."""

from collections.abc import Callable
from statistics import median

import msgspec

from operators.decoding.pass_cost import PassCosts
from operators.models.tuning import BETTER, TURNS, UNSTEADY

#: Tokens of the passes whose cost is measured.
PASS_SIZES = (1, 2, 3, 4, 8, 12, 16, 24, 32)


class RowStep(msgspec.Struct, frozen=True):
    """In which steps the logits of one model are computed fastest on one machine."""

    rows: int
    is_steady: bool = True


def measure_row_step(seconds: Callable[[int], float]) -> RowStep:
    """Find whether logits of more positions than wanted cost less; ``seconds`` times a pass with that many.

    llama.cpp multiplies the output head with tiles of some rows at a time, and the rest one by one. On one
    processor 15 rows took 93 ms and 16 took 69.
    """
    *rest, whole = sizes = (9, 10, 11, 12)
    for size in sizes:
        seconds(size)
    times: dict[int, list[float]] = {size: [] for size in sizes}
    for _turn in range(TURNS):
        for size, own in times.items():
            own.append(seconds(size))
    mean = sum(min(times[size]) for size in rest) / len(rest)
    is_steady = all(median(own) < UNSTEADY * min(own) for own in times.values())
    return RowStep(4 if min(times[whole]) < (1 - BETTER) * mean else 1, is_steady)


def measure_costs(seconds: Callable[[int], float]) -> PassCosts:
    """What a pass costs by its tokens; ``seconds`` times one pass.

    A larger pass never costs less: where it seems to, the machine was busy during the smaller one.
    """
    times: dict[int, list[float]] = {size: [] for size in PASS_SIZES}
    for size in PASS_SIZES:
        seconds(size)
    for _turn in range(TURNS):
        for size, own in times.items():
            own.append(seconds(size))
    least = [1000 * min(own) for own in times.values()]
    ms = [min(least[place:]) for place in range(len(least))]
    return PassCosts(PASS_SIZES, tuple(ms), all(median(own) < UNSTEADY * min(own) for own in times.values()))
