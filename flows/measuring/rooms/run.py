"""Runs the benchmark of rooms: measured on the real model, and simulated for other machines."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from connectors.files.contents import read_json
from connectors.files.distinct import check_distinct
from flows.engine.translation import Engine, open_engine
from flows.measuring.playback import Events, Load, read_recorded
from flows.measuring.results import Results
from flows.measuring.rooms.command import RoomsJob
from flows.measuring.rooms.measure import MODES, Mode, RoomsRow, measure, record, row_of, table
from flows.measuring.runner import Runner, files_of, running
from flows.measuring.signature import of_engine, sign
from flows.settings.lists import words
from flows.settings.loading import load_settings
from flows.settings.options import Overrides
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


def run_rooms(job: RoomsJob, overrides: Overrides) -> Results:
    """Measure and simulate as requested. Raises `UsageError` and `InputError`."""
    modes = _modes(job)
    settings = load_settings(None, overrides).translate
    check_distinct([("--json", job.json)], [job.partials, job.costs, *files_of(settings)])
    _check(job)
    costs = None if job.costs is None else _read_costs(job.costs)
    source = read_recorded(job.partials, job.limit)
    if source.recorded is not None and job.measured:
        raise UsageError(
            f"{job.partials} holds translations, which can only be simulated; give partials, or --rooms none"
        )
    if source.recorded is not None and costs is None:
        raise UsageError("without a model there is nothing to time; give the costs of passes with --costs")
    with running() as runner:
        # Translations hold their effort, so no model is needed.
        engine = open_engine(settings, runner.doing) if source.recorded is None else None
        rows = []
        if engine is not None:
            for rooms, mode in product(job.measured, modes):
                runner.doing(f"{rooms} rooms, {mode}", None)
                rows.append(measure(engine, settings, source, Load(rooms, job.seconds), mode, runner))
        if costs is None:
            assert engine is not None, "without a model the costs are given"
            costs = engine.fill_costs()
        if job.simulated:
            # A simulation has no dataflow, whose time does not depend on the machine's passes.
            trials = product(job.simulated, [mode for mode in modes if mode != "flow"])
            recorded = _recorded(engine, settings, source, runner)
            rows += _simulated(job, trials, source, recorded, costs, runner)
        signature = _sign(job, settings, engine, source, costs)
        runner.end()
    return Results(signature, {"rows": rows}, [table(rows)])


def _recorded(
    engine: Engine | None, settings: TranslateSettings, source: Events, runner: Runner
) -> Sequence[Recorded]:
    """The effort of each update of the recording."""

    def go_on(fraction: float) -> None:
        runner.doing("measuring each update", fraction)
        runner.go_on()

    if source.recorded is not None:
        return source.recorded
    assert engine is not None, "partials are translated by a model"
    return record(engine, settings, source, go_on)


def _simulated(
    job: RoomsJob, trials: Iterable[tuple[int, Mode]], source: Events, recorded: Sequence[Recorded],
    costs: PassCosts, runner: Runner,
) -> Iterator[RoomsRow]:  # fmt: skip
    """Rooms on another machine, or on this one."""
    machine = Machine(costs, job.sessions)
    for rooms, mode in trials:
        runner.doing(f"{rooms} rooms, {mode}, simulated", None)
        lived, scheduler = simulate(
            machine, source.recording, recorded, rooms, job.seconds,
            most=1 if mode == "alone" else None, go_on=runner.go_on,
        )  # fmt: skip
        yield row_of(rooms, mode, lived, scheduler.load, None, simulated=True)


def _sign(
    job: RoomsJob, settings: TranslateSettings, engine: Engine | None, source: Events, costs: PassCosts
) -> dict[str, Any]:
    own = dict[str, Any]()
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


def _modes(job: RoomsJob) -> list[Mode]:
    named = words("--modes", job.modes)
    if unknown := [word for word in named if word not in MODES]:
        raise UsageError(f"--modes: {unknown[0]!r} is no mode; choose from {', '.join(MODES)}")
    return [mode for mode in MODES if mode in named]


def _check(job: RoomsJob) -> None:
    if not job.measured and not job.simulated:
        raise UsageError("there are no rooms to measure; give some with --rooms or --simulate")
    for option, rooms, most, why in (
        ("--rooms", job.measured, MAX_SEQUENCES - 1, "llama.cpp supports no more; --simulate does"),
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
