"""Runs loads one after the other."""

from collections.abc import Sequence
from importlib.metadata import version
from threading import Event as Flag
from typing import Any

import msgspec

from connectors.machine.cpu import cpu_name
from flows.loadgen.memory import sampled
from flows.loadgen.rows import Memory, Row, row_of
from flows.loadgen.target import Load, Meter, Target
from flows.running.waiting import Waiting
from operators.errors import InputError, InterruptedRunError, SurtitleError

# How often the memory is sampled in a load.
_SAMPLES = 40


class LoadResults(msgspec.Struct, frozen=True):
    """The content of the ``--json`` file."""

    signature: dict[str, Any]
    rows: list[Row]


def run_loads(
    target: Target, loads: Sequence[Load], recording: str, waiting: Waiting, stop: Flag
) -> tuple[LoadResults, SurtitleError | None]:
    """Put each load on the target. ``recording`` names what the rooms say.

    Returns the results, and the error that ended the loads after the first one, if any did.

    Raises:
        SurtitleError: when nothing can be measured.
        InterruptedRunError: if ``stop`` is set meanwhile.
    """
    rows = list[Row]()
    failure: SurtitleError | None = None
    for load in loads:
        waiting.doing(f"{load.rooms} rooms speak for {load.seconds:g} seconds", None)
        try:
            row = _row(target, load)
        except SurtitleError as error:
            failure = error
        if stop.is_set():
            waiting.end()
            raise InterruptedRunError("interrupted; nothing was written")
        if failure is not None:
            break
        rows.append(row)
    waiting.end()
    if failure is not None and not rows:
        raise failure
    signature = {"surtitle": version("surtitle"), "recording": recording, "cpu": cpu_name()}
    return LoadResults(signature, rows), failure


def _row(target: Target, load: Load) -> Row:
    meter, before_mb = Meter(load.seconds), target.memory_mb()
    with sampled(target.memory_mb, load.seconds / _SAMPLES) as memory:
        target.run(load, meter)
    try:
        after_mb = target.memory_mb()
    except InputError:
        # What was measured does not depend on it.
        after_mb = None
    return row_of(target.name, load, meter, Memory(before_mb, after_mb, memory))
