"""Live rooms on a real model: measured update by update, or through the translate stage of a run."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from bytewax import operators as op
from bytewax.dataflow import Dataflow
from msgspec.structs import replace

from connectors.callback import CallbackSink
from connectors.machine.resources import resident_mb
from flows.engine.serving import make_scheduler
from flows.engine.translation import Engine
from flows.measuring.playback import Events, Load, RoomsSource, partials
from flows.measuring.results import Column, Row, tabulated
from flows.measuring.runner import Runner
from flows.pages.table import Table
from flows.running.dataflow import run
from flows.settings.schema import TranslateSettings
from operators.clock import WallClock
from operators.decoding.translator import Output, SegmentState
from operators.errors import InputError
from operators.events import Translation
from operators.metrics.quantiles import Quantiles, milliseconds
from operators.serving.live import Lived, RealClock, live
from operators.serving.rooms import Done, Update
from operators.serving.scheduler import Load as Passes
from operators.serving.scheduler import Scheduler
from operators.serving.segments import Translated, rooms_of
from operators.serving.simulation import Recorded
from operators.serving.thread import RoomsThread
from operators.stages.translate_rooms import translate_rooms
from operators.trouble import Trouble

Mode = Literal["batched", "alone", "flow"]
MODES: tuple[Mode, ...] = ("batched", "alone", "flow")
#: Key of a segment that belongs to no room.
_WARM_UP = "warm-up/000000"


class RoomsRow(Row, frozen=True, kw_only=True):
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
        _check(translation.trouble, translation.source, "")
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
    engine: Engine, settings: TranslateSettings, source: Events, go_on: Callable[[float], None]
) -> Sequence[Recorded]:
    """Record the passes of all updates, one after the other; ``go_on`` gets the fraction that is done.

    Raises `InputError` if the model fails.
    """
    recorded: list[Recorded] = []
    with _scheduler(engine, settings, 1, "alone") as scheduler:
        model = engine.translator(settings, scheduler)
        state = SegmentState()
        for number, heard in enumerate(source.heard):
            go_on(number / len(source.heard))
            update = Update("recorded", heard.segment, heard.text, heard.is_final)
            state, output = model.update(update.key, state, update.text, is_final=update.is_final)
            recorded.append(Recorded.of(_good(output, update).effort, len(output.tokens)))
            if number + 1 == len(source.heard) or source.heard[number + 1].segment != heard.segment:
                model.release(update.key, state)
                state = SegmentState()
    return recorded


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
    _check(output.trouble, update.text, output.why)
    return output


def _check(trouble: Trouble | None, text: str, why: str) -> None:
    if trouble is not None and trouble.is_failure:
        raise InputError(f"the model failed at {text[:40]!r}, {why or trouble}: use another model")
