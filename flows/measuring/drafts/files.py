"""Trajectories of ``surtitle bench-drafts``: what they give, and the file that holds them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from connectors.files.text import read_lines
from flows.measuring.drafts.tables import Costs, by_method, steps_of, tables, times_of
from flows.measuring.results import Results
from operators.decoding.pass_cost import PassCosts, is_measured
from operators.decoding.trajectory import Trajectory
from operators.errors import InputError
from operators.text_layout import cleaned

Line = TypeVar("Line")


class Drafts(msgspec.Struct, frozen=True):
    """The trajectories, how they were measured, and the cost of passes on that machine."""

    signature: dict[str, Any]
    costs: list[Costs]
    trajectories: list[Trajectory]


class _Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first line of a file of trajectories."""

    signature: dict[str, Any]
    costs: list[Costs] = []


def results_of(drafts: Drafts, ratios: Sequence[float]) -> Results:
    """Steps and costs of all ways; ``ratios`` are pass costs in draft-model steps."""
    found = by_method(drafts.trajectories)
    steps = [steps_of(method, some) for method, some in found.items()]
    times = [times_of(found, costs) for costs in [*drafts.costs, *map(_at_ratio, ratios)]]
    every = [one for some in times for one in some]
    return Results(drafts.signature, {"steps": steps, "times": every}, tables(steps, times))


def encode(drafts: Drafts) -> bytes:
    """A file of trajectories, for `read_drafts`."""
    records = [_Head(drafts.signature, drafts.costs), *drafts.trajectories]
    return b"".join(msgspec.json.encode(one) + b"\n" for one in records)


def read_drafts(path: Path) -> Drafts:
    """Read written trajectories. Raises `InputError` for a file without any."""
    lines = read_lines(path)
    head = _line(path, 1, lines[0] if lines else "", _Head)
    made = [_line(path, number, line, Trajectory) for number, line in enumerate(lines[1:], start=2)]
    if not made:
        raise InputError(f"{path} has no trajectories; write them with --trajectories")
    if not all(is_measured(one) for costs in head.costs for one in (costs.draft, costs.target)):
        raise InputError(f"{path}:1: the costs of passes contradict each other; measure them again")
    # The printed text comes from a file: remove control characters, and limit it to a line.
    named = [msgspec.structs.replace(one, method=cleaned(one.method)[:80]) for one in made]
    costs = [msgspec.structs.replace(one, name=cleaned(one.name)[:80]) for one in head.costs]
    signature = {cleaned(name)[:40]: _plain(value) for name, value in head.signature.items()}
    return Drafts(signature, costs, named)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {cleaned(str(name))[:40]: _plain(part) for name, part in value.items()}
    return cleaned(value)[:400] if isinstance(value, str) else value


def _line(path: Path, number: int, line: str, kind: type[Line]) -> Line:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(
            f"{path}:{number}: this is not a line of trajectories ({error}); write them with --trajectories"
        ) from None


def _at_ratio(ratio: float) -> Costs:
    """The costs of a pair on a machine where a pass costs the same whatever it evaluates."""
    name = f"in steps of the draft model, of which a pass costs {ratio:g} whatever it evaluates"
    return Costs(name, PassCosts((1,), (1.0,)), PassCosts((1,), (ratio,)))
