"""Runs the benchmark of rooms: measured on the real model, and simulated for other machines."""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from threading import Event as Flag
from typing import Any, NamedTuple

import msgspec

from connectors.files.json_file import read_json
from connectors.machine.cpu import cpu_name
from flows.bench.signature import identify
from flows.bench_rooms.measure import measure, record
from flows.bench_rooms.rows import Mode, Row, row_of
from flows.bench_rooms.source import Source, read_source
from flows.engine.leaning import leaning, spell
from flows.engine.translation import Engine, open_engine
from flows.running.interrupts import interrupt_sets
from flows.running.waiting import Waiting
from flows.settings.schema import TranslateSettings
from operators.decoding.pass_cost import PassCosts, is_measured
from operators.errors import InputError, InterruptedRunError, UsageError
from operators.models.memory_plan import MAX_SEQUENCES
from operators.serving.fill import fill_of
from operators.serving.simulation import Machine, Recorded, simulate

# Maximum tokens of the largest pass in it.
_MAX_PASS = 65_536
#: Maximum number of simulated rooms, because each of their updates is an event of the simulation.
MAX_ROOMS = 100_000


class RoomsJob(NamedTuple):
    """What to measure and simulate."""

    source: Path
    settings: TranslateSettings
    #: The numbers of rooms to measure, and those to simulate.
    rooms: Sequence[int]
    simulated: Sequence[int]
    modes: Sequence[Mode]
    seconds: float
    limit: int | None
    #: Costs of the passes of another machine, and the number of sessions that fit into its memory.
    costs: Path | None
    sessions: int


class RoomsResults(msgspec.Struct, frozen=True):
    """The content of the ``--json`` file."""

    signature: dict[str, Any]
    rows: list[Row]


def run_rooms(job: RoomsJob) -> RoomsResults:
    """Measure and simulate as requested. Raises `UsageError` and `InputError`."""
    _check(job)
    costs = None if job.costs is None else _read_costs(job.costs)
    source = read_source(job.source, job.limit)
    if source.recorded is not None and job.rooms:
        raise UsageError(
            f"{job.source} holds translations, which can only be simulated; give partials, or --rooms none"
        )
    if source.recorded is not None and costs is None:
        raise UsageError("without a model there is nothing to time; give the costs of passes with --costs")
    stop = Flag()
    with interrupt_sets(stop), Waiting(quiet=False, captions=False) as waiting:
        made = _Run(job, source, costs, stop, waiting)
        rows = [*made.measured(), *made.simulated()]
        waiting.end()
        return RoomsResults(made.signature(), rows)


class _Run:
    """One run of the benchmark."""

    def __init__(
        self, job: RoomsJob, source: Source, costs: PassCosts | None, stop: Flag, waiting: Waiting
    ) -> None:
        self._job, self._source, self._costs, self._stop, self._waiting = job, source, costs, stop, waiting
        # Translations hold their effort, so no model is needed.
        self._engine: Engine | None = None
        if source.recorded is None:
            self._engine = open_engine(job.settings, waiting.doing)

    def measured(self) -> list[Row]:
        """Measure rooms on the real model."""
        job, rows = self._job, list[Row]()
        if self._engine is None:
            return rows
        for rooms in job.rooms:
            for mode in job.modes:
                self._waiting.doing(f"{rooms} rooms, {mode}", None)
                rows.append(
                    measure(
                        self._engine,
                        job.settings,
                        self._source,
                        rooms,
                        mode,
                        job.seconds,
                        self._go_on,
                        self._stop,
                    )
                )
        return rows

    def simulated(self) -> list[Row]:
        """Simulate rooms on another machine, or on this one."""
        job, rows = self._job, list[Row]()
        if not job.simulated:
            return rows
        recorded = self._recorded()
        machine = Machine(self._pass_costs(), job.sessions)
        for rooms in job.simulated:
            # A simulation has no dataflow, whose time does not depend on the machine's passes.
            for mode in (mode for mode in job.modes if mode != "flow"):
                self._waiting.doing(f"{rooms} rooms, {mode}, simulated", None)
                lived, scheduler = simulate(
                    machine, self._source.recording, recorded, rooms, job.seconds,
                    most=1 if mode == "alone" else None, go_on=self._go_on,
                )  # fmt: skip
                rows.append(row_of(rooms, mode, lived, scheduler.load, None, simulated=True))
        return rows

    def signature(self) -> dict[str, Any]:
        """Everything needed to reproduce the figures."""
        job, settings = self._job, self._job.settings
        costs = self._pass_costs()
        signature: dict[str, Any] = {
            "surtitle": version("surtitle"),
            "corpus": self._source.name,
            "corpus_sha256": self._source.sha256,
            "seconds": job.seconds,
            "costs_tokens": list(costs.tokens),
            "costs_ms": [round(ms, 3) for ms in costs.ms],
            "fill": fill_of(costs),
        }
        if job.simulated:
            signature |= {"sessions": job.sessions}
        if self._engine is not None:
            leans = leaning(settings, knows_unfinished=self._engine.prompt.knows_unfinished)
            signature |= {
                "model": msgspec.to_builtins(identify(self._engine.path)),
                "llama_cpp_python": version("llama-cpp-python"),
                "settings": f"{settings.source}-{settings.target}|{settings.method}|{spell(leans)}",
                "threads": self._engine.context.threads,
                "cpu": cpu_name(),
            }
        return signature

    def _recorded(self) -> Sequence[Recorded]:
        if self._source.recorded is not None:
            return self._source.recorded
        assert self._engine is not None, "partials are translated by a model"

        def go_on(fraction: float) -> None:
            self._waiting.doing("measuring each update", fraction)
            self._go_on()

        return record(self._engine, self._job.settings, self._source, go_on)

    def _pass_costs(self) -> PassCosts:
        if self._costs is not None:
            return self._costs
        assert self._engine is not None, "without a model the costs are given"
        return self._engine.fill_costs()

    def _go_on(self) -> None:
        if self._stop.is_set():
            raise InterruptedRunError("interrupted; nothing was written")


def _check(job: RoomsJob) -> None:
    if not job.rooms and not job.simulated:
        raise UsageError("there are no rooms to measure; give some with --rooms or --simulate")
    for option, rooms, most, why in (
        ("--rooms", job.rooms, MAX_SEQUENCES - 1, "llama.cpp supports no more; --simulate does"),
        ("--simulate", job.simulated, MAX_ROOMS, "take fewer"),
    ):
        if any(not 1 <= one <= most for one in rooms):
            raise UsageError(f"{option}: there can be 1 to {most} rooms; {why}")


def _read_costs(path: Path) -> PassCosts:
    remedy = 'give one such as {"tokens": [1, 64], "ms": [9, 80]}'
    costs = read_json(path, PassCosts, "a table of costs", remedy)
    if not is_measured(costs) or list(costs.ms) != sorted(costs.ms) or costs.tokens[-1] > _MAX_PASS:
        raise InputError(
            f"{path}: let tokens ascend from 1 to {_MAX_PASS} at most, and ms with them, one for each"
        )
    return costs
