"""Live rooms through a dataflow: the translate stage of a run, with its thread and its wake-ups."""

from collections.abc import Callable, Iterable
from datetime import datetime
from threading import Event as Flag

from bytewax import operators as op
from bytewax.dataflow import Dataflow
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from typing_extensions import override

from connectors.callback import CallbackSink
from connectors.pacing import ALWAYS_DUE, nap
from flows.running.dataflow import run
from operators.clock import WallClock
from operators.decoding.translator import SegmentState
from operators.events import Partial, Translation
from operators.metrics.quantiles import Quantiles
from operators.serving.live import Lived, RealClock
from operators.serving.rooms import Update
from operators.serving.segments import Translated
from operators.serving.thread import RoomsThread
from operators.stages.translate_rooms import translate_rooms


def live_in_dataflow(
    served: RoomsThread[SegmentState, Translated],
    arrivals: Iterable[Update],
    tokens: Callable[[Translation], int],
    stop: Flag,
) -> Lived:
    """Translate all ``arrivals`` as a run with one worker does.

    Args:
        served: The rooms.
        arrivals: The updates to translate, in the order of their times.
        tokens: Returns the length of a translation; it may raise a `SurtitleError` to end the run.
        stop: When set, no more updates arrive.
    """
    clock, counted = RealClock(), _Counted()

    def take(translation: Translation) -> None:
        counted.updates += 1
        counted.finals += translation.is_final
        counted.dropped += translation.overtaken
        counted.tokens += tokens(translation)
        counted.seconds = clock.now()
        counted.latencies_s.add(counted.seconds - translation.arrival_s)

    dataflow = Dataflow("rooms")
    partials = op.input("partials", dataflow, _Arrivals(arrivals, clock, stop))
    translations = translate_rooms("translate", dataflow, partials, lambda: served, WallClock(clock.now))
    op.output("count", translations, CallbackSink(take))
    run(dataflow, stop)
    return Lived(
        counted.updates, counted.finals, counted.dropped, counted.tokens, counted.seconds, counted.latencies_s
    )


class _Counted:
    """What came out of the dataflow so far."""

    def __init__(self) -> None:
        self.updates = self.finals = self.dropped = self.tokens = 0
        self.seconds = 0.0
        self.latencies_s = Quantiles()


class _Arrivals(DynamicSource[Partial]):
    """Delivers updates at their times."""

    def __init__(self, arrivals: Iterable[Update], clock: RealClock, stop: Flag) -> None:
        self._partition = _Partition(arrivals, clock, stop)

    @override
    def build(self, step_id: str, worker_index: int, worker_count: int) -> "_Partition":
        return self._partition


class _Partition(StatelessSourcePartition[Partial]):
    def __init__(self, arrivals: Iterable[Update], clock: RealClock, stop: Flag) -> None:
        self._coming = iter(arrivals)
        self._next = next(self._coming, None)
        self._clock = clock
        self._stop = stop

    @override
    def next_batch(self) -> list[Partial]:
        if self._next is None or self._stop.is_set():
            raise StopIteration
        batch = []
        while self._next is not None and self._next.arrival_s <= self._clock.now():
            batch.append(_partial(self._next))
            self._next = next(self._coming, None)
        if not batch and self._next is not None:
            nap(self._next.arrival_s - self._clock.now())
        return batch

    @override
    def next_awake(self) -> datetime:
        return ALWAYS_DUE


def _partial(update: Update) -> Partial:
    return Partial(
        stream=update.room,
        segment=update.segment,
        revision=update.number,
        is_final=update.is_final,
        text=update.text,
        start_s=update.arrival_s,
        end_s=update.arrival_s,
        arrival_s=update.arrival_s,
    )
