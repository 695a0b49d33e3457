"""Measures live rooms on a real model."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event as Flag

from msgspec.structs import replace

from connectors.machine.memory import resident_mb
from flows.bench_rooms.dataflow import live_in_dataflow
from flows.bench_rooms.rows import Mode, Row, row_of
from flows.bench_rooms.source import Source
from flows.engine.serving import make_scheduler
from flows.engine.translation import Engine
from flows.settings.schema import TranslateSettings
from operators.decoding.translator import Output, SegmentState
from operators.errors import InputError
from operators.events import Translation
from operators.serving.live import RealClock, live
from operators.serving.rooms import Done, Update
from operators.serving.scheduler import Scheduler
from operators.serving.segments import Translated, rooms_of
from operators.serving.simulation import Recorded
from operators.serving.thread import RoomsThread
from operators.trouble import Trouble

#: Key of a segment that belongs to no room.
_WARM_UP = "warm-up/000000"


def measure(
    engine: Engine,
    settings: TranslateSettings,
    source: Source,
    rooms: int,
    mode: Mode,
    seconds: float,
    go_on: Callable[[], None],
    stop: Flag,
) -> Row:
    """Run a number of rooms for a number of seconds, in their own sessions.

    ``go_on`` is called before each pass, and may raise; a dataflow ends when ``stop`` is set. Raises
    `InputError` if the model fails.
    """
    with _scheduler(engine, settings, rooms, mode) as scheduler:
        model = engine.translator(settings, scheduler)
        # The first passes read the weights from disk.
        state, _ = model.update(_WARM_UP, SegmentState(), "Good morning.", is_final=True)
        model.release(_WARM_UP, state)
        arrivals = source.recording.arrivals(rooms, seconds)
        before = scheduler.load
        served = rooms_of(scheduler, model, keep_up=True)
        if mode == "flow":
            thread = RoomsThread(served)
            try:
                lived = live_in_dataflow(thread, arrivals, _tokens_of, stop)
            finally:
                thread.stop()
            go_on()
        else:
            lived = live(served, arrivals, RealClock(), _tokens, go_on)
        load = type(before)(*(now - then for now, then in zip(scheduler.load, before, strict=True)))
        return row_of(rooms, mode, lived, load, resident_mb(), simulated=False)


def record(
    engine: Engine, settings: TranslateSettings, source: Source, go_on: Callable[[float], None]
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


def _tokens_of(translation: Translation) -> int:
    _check(translation.trouble, translation.source, "")
    return len(translation.tokens)


def _good(output: Output, update: Update) -> Output:
    _check(output.trouble, update.text, output.why)
    return output


def _check(trouble: Trouble | None, text: str, why: str) -> None:
    if trouble is not None and trouble.is_failure:
        raise InputError(f"the model failed at {text[:40]!r}, {why or trouble}: use another model")
