"""Measures rooms on the real model, update by update or through the translate stage, or simulated."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any, Literal

import msgspec
from bytewax import operators as op
from bytewax.dataflow import Dataflow
from msgspec.structs import replace

from connectors.callback import CallbackSink
from connectors.files.contents import read_json
from connectors.files.distinct import check_distinct
from connectors.machine.resources import resident_mb
from flows.engine.draft_model import MAX_SEQUENCES
from flows.engine.serving import make_scheduler
from flows.engine.translation import Engine, open_engine
from flows.measuring.playback import Events, Load, RoomsSource, partials, read_recorded
from flows.measuring.results import Results, Runner, files_of, running
from flows.measuring.rooms.command import RoomsJob
from flows.measuring.signature import of_engine, sign
from flows.pages.table import Column, Table, tabulated
from flows.running.dataflow import run
from flows.settings.lists import words
from flows.settings.loading import load_settings
from flows.settings.options import Overrides
from flows.settings.translate import TranslateSettings
from operators.clock import WallClock
from operators.decoding.pass_cost import PassCosts, is_measured
from operators.decoding.translator import Output, SegmentState
from operators.errors import InputError, UsageError
from operators.events import Translation
from operators.metrics.quantiles import Quantiles, milliseconds
from operators.serving.passes import fill_of
from operators.serving.rooms import Done, Update
from operators.serving.scheduler import Load as Passes
from operators.serving.scheduler import Scheduler
from operators.serving.segments import Translated, rooms_of
from operators.serving.simulation import Lived, Machine, RealClock, Recorded, live, simulate
from operators.serving.thread import RoomsThread
from operators.stages.translate_rooms import translate_rooms
from operators.trouble import Trouble

Mode = Literal["batched", "alone", "flow"]
MODES: tuple[Mode, ...] = ("batched", "alone", "flow")
#: Key of a segment that belongs to no room.
_WARM_UP = "warm-up/000000"


class RoomsRow(msgspec.Struct, frozen=True, kw_only=True):
    """A number of rooms, translated together (``batched``) or one after the other (``alone``).

    In a ``flow`` they are translated together by the translate stage of a run.
    """

    rooms: int
    mode: Mode
    #: Whether the clock was driven by a table of costs.
    simulated: bool
    #: Tokens of all translations per second, from the first update to the end of the last one.
    tokens_per_second: float
    #: Seconds from the arrival of an update until it was translated; absent if none was.
    p50_ms: float | None
    p95_ms: float | None
    #: The same from the arrival of each update, overtaken ones too, until it or a newer one of its segment
    #: was translated; absent in a ``flow``, and if nothing was translated.
    p50_seen_ms: float | None
    p95_seen_ms: float | None
    #: Number of partials that newer updates have overtaken.
    dropped: int
    #: Number of translated updates, and of finals among them.
    updates: int
    finals: int
    #: Mean number of requests that a pass answered, and of tokens that it evaluated.
    requests_per_pass: float
    tokens_per_pass: float
    #: Memory of the process; absent if rooms are simulated, or if the system does not report it.
    memory_mb: float | None


def row_of(
    rooms: int, mode: Mode, lived: Lived, passes: Passes, memory_mb: float | None, *, simulated: bool
) -> RoomsRow:
    """The row of a run."""
    return RoomsRow(
        rooms=rooms,
        mode=mode,
        simulated=simulated,
        tokens_per_second=round(lived.tokens / lived.seconds, 2) if lived.seconds else 0.0,
        p50_ms=milliseconds(lived.latencies_s, 0.5),
        p95_ms=milliseconds(lived.latencies_s, 0.95),
        p50_seen_ms=milliseconds(lived.delays_s or Quantiles(), 0.5),
        p95_seen_ms=milliseconds(lived.delays_s or Quantiles(), 0.95),
        dropped=lived.dropped,
        updates=lived.updates,
        finals=lived.finals,
        requests_per_pass=round(passes.requests / max(1, passes.passes), 2),
        tokens_per_pass=round(passes.tokens / max(1, passes.passes), 2),
        memory_mb=None if memory_mb is None else round(memory_mb, 1),
    )


def table(rows: Sequence[RoomsRow]) -> Table:
    """The table of all rows."""
    columns = (
        Column("rooms, mode", lambda row: f"{row.rooms}, {row.mode}{', simulated' if row.simulated else ''}"),
        Column("tokens/s", "tokens_per_second", 1),
        Column("p50 ms", "p50_ms", 0),
        Column("p95 ms", "p95_ms", 0),
        Column("p50 seen", "p50_seen_ms", 0),
        Column("p95 seen", "p95_seen_ms", 0),
        *(Column(name, name) for name in ("dropped", "updates", "finals")),
        Column("requests/pass", "requests_per_pass", 1),
        Column("tokens/pass", "tokens_per_pass", 1),
        Column("memory MB", "memory_mb", 0),
    )
    notes = (
        "tokens/s: of all translations; p50, p95: from the arrival of an update to its translation",
        "seen: from the arrival of an update, dropped or not, until it or a newer one was translated",
        "dropped: partials that newer updates have overtaken; finals never are",
    )
    return tabulated("rooms", rows, columns, notes=notes)


def measure(
    engine: Engine, settings: TranslateSettings, source: Events, load: Load, mode: Mode, runner: Runner
) -> RoomsRow:
    """Run a load of rooms in their own sessions, until its end or Ctrl-C.

    Raises `InputError` if the model fails.
    """
    with _scheduler(engine, settings, load.rooms, mode) as scheduler:
        model = engine.translator(settings, scheduler)
        # The first passes read the weights from disk.
        state, _ = model.update(_WARM_UP, SegmentState(), "Good morning.", is_final=True)
        model.release(_WARM_UP, state)
        before = scheduler.load
        served = rooms_of(scheduler, model, keep_up=True)
        if mode == "flow":
            thread = RoomsThread(served)
            try:
                lived = _live_in_dataflow(thread, source, load, runner)
            finally:
                thread.stop()
        else:
            lived = live(served, source.recording.arrivals(*load), RealClock(), _tokens, runner.go_on)
        passes = type(before)(*(now - then for now, then in zip(scheduler.load, before, strict=True)))
        return row_of(load.rooms, mode, lived, passes, resident_mb(), simulated=False)


def _live_in_dataflow(
    served: RoomsThread[SegmentState, Translated], source: Events, load: Load, runner: Runner
) -> Lived:
    """Translate the updates of all rooms as a run with one worker does."""
    rooms = RoomsSource(partials(source.recording, load), runner.stop)
    lived = Lived(0, 0, 0, 0, 0.0, Quantiles())

    def take(translation: Translation) -> None:
        nonlocal lived
        _check_answer(translation.trouble, translation.source, "")
        now_s = rooms.now()
        lived.latencies_s.add(now_s - translation.arrival_s)
        lived = Lived(
            lived.updates + 1,
            lived.finals + translation.is_final,
            lived.dropped + translation.overtaken,
            lived.tokens + len(translation.tokens),
            now_s,
            lived.latencies_s,
        )

    dataflow = Dataflow("rooms")
    said = op.input("partials", dataflow, rooms)
    translations = translate_rooms("translate", dataflow, said, lambda: served, WallClock(rooms.now))
    op.output("count", translations, CallbackSink(take))
    run(dataflow, runner.stop)
    runner.go_on()
    return lived


def record(
    engine: Engine, settings: TranslateSettings, source: Events, runner: Runner
) -> tuple[Recorded, ...]:
    """Record the effort of all updates, one after the other. Raises `InputError` if the model fails."""
    recorded: list[Recorded] = []
    with _scheduler(engine, settings, 1, "alone") as scheduler:
        model = engine.translator(settings, scheduler)
        state = SegmentState()
        for number, heard in enumerate(source.heard):
            runner.doing("measuring each update", number / len(source.heard))
            runner.go_on()
            update = Update("recorded", heard.segment, heard.text, heard.is_final)
            state, output = model.update(update.key, state, update.text, is_final=update.is_final)
            recorded.append(Recorded.of(_good(output, update).effort, len(output.tokens)))
            if number + 1 == len(source.heard) or source.heard[number + 1].segment != heard.segment:
                model.release(update.key, state)
                state = SegmentState()
    return tuple(recorded)


@contextmanager
def _scheduler(engine: Engine, settings: TranslateSettings, rooms: int, mode: Mode) -> Iterator[Scheduler]:
    opened = engine.open_anew(replace(settings, sessions=rooms))
    try:
        yield make_scheduler(opened, None, engine.fill_costs(), 1 if mode == "alone" else None)
    finally:
        opened.context.close()


def _tokens(done: Done[SegmentState, Translated]) -> int:
    return len(_good(done.made.output, done.update).tokens)


def _good(output: Output, update: Update) -> Output:
    _check_answer(output.trouble, update.text, output.why)
    return output


def _check_answer(trouble: Trouble | None, text: str, why: str) -> None:
    if trouble is not None and trouble.is_failure:
        raise InputError(f"the model failed at {text[:40]!r}, {why or trouble}: use another model")


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
            recorded = source.recorded
            if recorded is None:
                assert engine is not None, "partials are translated by a model"
                recorded = record(engine, settings, source, runner)
            rows += _simulated(job, trials, source, recorded, costs, runner)
        signature = _sign(job, settings, engine, source, costs)
    return Results(signature, {"rows": rows}, [table(rows)])


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
