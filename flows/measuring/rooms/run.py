"""Runs the benchmark of rooms: measured on the real model, and simulated for other machines."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from connectors.files.contents import read_json
from flows.engine.translation import Engine, open_engine
from flows.measuring.playback import Events, Load, read_recorded
from flows.measuring.results import Results
from flows.measuring.rooms.measure import Mode, RoomsRow, measure, record, row_of, table
from flows.measuring.runner import Runner, running
from flows.measuring.signature import of_engine, sign
from flows.settings.schema import TranslateSettings
from operators.decoding.pass_cost import PassCosts, is_measured
from operators.errors import InputError, UsageError
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


def run_rooms(job: RoomsJob) -> Results:
    """Measure and simulate as requested. Raises `UsageError` and `InputError`."""
    _check(job)
    costs = None if job.costs is None else _read_costs(job.costs)
    source = read_recorded(job.source, job.limit)
    if source.recorded is not None and job.rooms:
        raise UsageError(
            f"{job.source} holds translations, which can only be simulated; give partials, or --rooms none"
        )
    if source.recorded is not None and costs is None:
        raise UsageError("without a model there is nothing to time; give the costs of passes with --costs")
    with running() as runner:
        # Translations hold their effort, so no model is needed.
        engine = open_engine(job.settings, runner.doing) if source.recorded is None else None
        rows = [] if engine is None else [*_measured(job, engine, source, runner)]
        if costs is None:
            assert engine is not None, "without a model the costs are given"
            costs = engine.fill_costs()
        if job.simulated:
            rows += _simulated(job, engine, source, costs, runner)
        signature = _sign(job, engine, source, costs)
        runner.end()
    return Results(signature, {"rows": rows}, [table(rows)])


def _measured(job: RoomsJob, engine: Engine, source: Events, runner: Runner) -> Iterator[RoomsRow]:
    """Rooms on the real model."""
    for rooms in job.rooms:
        for mode in job.modes:
            runner.doing(f"{rooms} rooms, {mode}", None)
            yield measure(engine, job.settings, source, Load(rooms, job.seconds), mode, runner)


def _simulated(
    job: RoomsJob, engine: Engine | None, source: Events, costs: PassCosts, runner: Runner
) -> Iterator[RoomsRow]:
    """Rooms on another machine, or on this one."""

    def go_on(fraction: float) -> None:
        runner.doing("measuring each update", fraction)
        runner.go_on()

    recorded: Sequence[Recorded] | None = source.recorded
    if recorded is None:
        assert engine is not None, "partials are translated by a model"
        recorded = record(engine, job.settings, source, go_on)
    machine = Machine(costs, job.sessions)
    for rooms in job.simulated:
        # A simulation has no dataflow, whose time does not depend on the machine's passes.
        for mode in (mode for mode in job.modes if mode != "flow"):
            runner.doing(f"{rooms} rooms, {mode}, simulated", None)
            lived, scheduler = simulate(
                machine, source.recording, recorded, rooms, job.seconds,
                most=1 if mode == "alone" else None, go_on=runner.go_on,
            )  # fmt: skip
            yield row_of(rooms, mode, lived, scheduler.load, None, simulated=True)


def _sign(job: RoomsJob, engine: Engine | None, source: Events, costs: PassCosts) -> dict[str, Any]:
    settings, own = job.settings, dict[str, Any]()
    if engine is not None:
        rules = settings.rules(knows_unfinished=engine.prompt.knows_unfinished)
        own = of_engine(engine, settings)
        own["settings"] = f"{settings.source}-{settings.target}|{settings.method}|{rules}"
    return sign(
        **own,
        corpus=source.name,
        corpus_sha256=source.sha256,
        seconds=job.seconds,
        costs_tokens=list(costs.tokens),
        costs_ms=[round(ms, 3) for ms in costs.ms],
        fill=fill_of(costs),
        **({"sessions": job.sessions} if job.simulated else {}),
    )


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
