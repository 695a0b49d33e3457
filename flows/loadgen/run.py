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
from operators.errors import InterruptedRunError

# How often the memory is sampled in a load.
_SAMPLES = 40


class LoadResults(msgspec.Struct, frozen=True):
    """The content of the ``--json`` file."""

    signature: dict[str, Any]
    rows: list[Row]


def run_loads(
    target: Target, loads: Sequence[Load], recording: str, waiting: Waiting, stop: Flag
) -> LoadResults:
    """Put each load on the target. ``recording`` names what the rooms say.

    Raises `InterruptedRunError` if ``stop`` is set meanwhile.
    """
    rows = []
    for load in loads:
        waiting.doing(f"{load.rooms} rooms speak for {load.seconds:g} seconds", None)
        meter, before = Meter(load.seconds), target.memory_mb()
        with sampled(target.memory_mb, load.seconds / _SAMPLES) as memory:
            target.run(load, meter)
        if stop.is_set():
            waiting.end()
            raise InterruptedRunError("interrupted; nothing was written")
        rows.append(row_of(target.name, load, meter, Memory(before, target.memory_mb(), memory)))
    waiting.end()
    signature = {"surtitle": version("surtitle"), "recording": recording, "cpu": cpu_name()}
    return LoadResults(signature, rows)
