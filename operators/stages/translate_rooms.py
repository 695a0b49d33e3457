"""The translate stage for many rooms: hands each update in, goes on, and gets the result when it is there."""

from collections.abc import Callable, Iterable
from datetime import datetime
from queue import SimpleQueue

from bytewax import operators as op
from bytewax.dataflow import Dataflow, Stream, operator
from bytewax.operators import KeyedStream, StatefulBatchLogic
from typing_extensions import override

from operators.clock import Clock
from operators.events import Partial, Translation
from operators.serving import rooms
from operators.serving.rooms import Done, RoomsThread
from operators.stages.snapshots import Silence, pack, unpack
from operators.stages.translation import MAX_OPEN, Note, OpenSegment, StageState, Update, no_note
from operators.stages.wake_ups import WakeUps, wake

_Rooms = RoomsThread
_Result = Done | Exception


@operator
def translate_rooms(
    step_id: str,
    flow: Dataflow,
    up: Stream[Partial],
    served: Callable[[], _Rooms],
    clock: Clock,
    *,
    note: Note = no_note,
    processes: int = 1,
) -> Stream[Translation]:
    """Translate partials of many streams together; each stream is a room.

    Of a stream with captions in several languages, each language is a room.

    The translations of a stream come in the order in which its room translates them. A worker never waits for
    the model, except at the end of its input or if very much is pending, so one worker is enough for any
    number of rooms. Segments without a final are forgotten when their stream has been silent for a day.

    Delivery: exactly once with recovery. The snapshot holds what was handed in and has not come back, which
    is translated again after a resume.

    Args:
        up: Partials of any number of streams.
        served: Gives the process's rooms; called on the worker, not when the flow is built.
        note: Called with the outcome of each update: what was wrong, and details for a person.
    """
    wake_ups = WakeUps()

    def build(resume: bytes | None) -> _Room:
        state = StageState() if resume is None else unpack(resume, StageState)
        return _Room(served(), wake_ups, clock, state, note)

    keyed: KeyedStream[Partial] = op.key_on("key", up, lambda partial: partial.channel)
    woken: KeyedStream[Partial | None] = op.merge(
        "merge", keyed, wake("wake", flow, keyed, wake_ups, processes)
    )
    translated = op.stateful_batch("segment", woken, build)
    return op.key_rm("unkey", translated)


class _Room(StatefulBatchLogic[Partial | None, Translation, bytes]):
    """One stream. Its values are partials, and None to wake it."""

    def __init__(
        self, served: _Rooms, wake_ups: WakeUps, clock: Clock, state: StageState, note: Note
    ) -> None:
        self._served = served
        self._wake_ups = wake_ups
        self._clock = clock
        self._note = note
        #: The open segments as far as they have come back, those of the newest translations last.
        self._open = state.open
        #: What was handed in and has not come back, by number.
        self._pending: dict[int, Partial] = {}
        self._number = 0
        #: Filled by the thread of the rooms.
        self._results: SimpleQueue[_Result] = SimpleQueue()
        self._silence = Silence()
        # Known with the first partial; the rooms have the restored states since then.
        self._stream: str | None = None
        self._hand_in_all(_unfinished(state))

    @override
    def on_batch(self, values: list[Partial | None]) -> tuple[list[Translation], bool]:
        self._hand_in_all(value for value in values if value is not None)
        done = []
        while not self._results.empty():
            done.append(self._translation(self._results.get()))
        self._silence.broken()
        return done, not (self._open or self._pending)

    @override
    def on_notify(self) -> tuple[list[Translation], bool]:
        if not self._silence.is_long() or self._pending:
            return [], StatefulBatchLogic.RETAIN
        if self._stream is not None:
            for segment in self._open:
                self._served.forget(self._stream, segment)
        return [], StatefulBatchLogic.DISCARD

    @override
    def notify_at(self) -> datetime | None:
        return self._silence.look_at

    @override
    def on_eof(self) -> tuple[list[Translation], bool]:
        done = []
        while self._pending:
            done.append(self._translation(self._results.get()))
        return done, StatefulBatchLogic.RETAIN

    @override
    def snapshot(self) -> bytes:
        return pack(StageState(self._open, list(self._pending.values())))

    def _hand_in_all(self, partials: Iterable[Partial]) -> None:
        for partial in partials:
            self._restore(partial.channel)
            self._number += 1
            self._pending[self._number] = partial
            self._wake_ups.began()
            self._served.hand_in(self._update(partial), self._deliver(partial.channel))

    def _restore(self, stream: str) -> None:
        """Give the rooms the states of a resumed run; the name of the stream comes with its first partial."""
        if self._stream is not None:
            return
        self._stream = stream
        for segment, state in self._open.items():
            self._served.restore(stream, segment, state.segment)

    def _update(self, partial: Partial) -> rooms.Update:
        return rooms.Update(
            partial.channel, partial.segment, partial.text, partial.is_final, self._number, partial.is_stable
        )  # fmt: skip

    def _deliver(self, stream: str) -> Callable[[_Result], None]:
        results, wake_ups = self._results, self._wake_ups

        def deliver(result: _Result) -> None:
            results.put(result)
            wake_ups.wake(stream)

        return deliver

    def _translation(self, result: _Result) -> Translation:
        if isinstance(result, Exception):
            raise result
        partial = self._pending.pop(result.update.number)
        for number in result.overtaken:
            del self._pending[number]
        self._wake_ups.ended(1 + len(result.overtaken))
        state = self._open.pop(partial.segment, OpenSegment())
        overtaken = state.overtaken + len(result.overtaken)
        output, seconds = result.output, result.seconds
        if partial.language:
            # The languages of a stream have one clock, so each takes only its share of the passes.
            seconds = min(seconds, output.effort.model_s)
        update = Update(partial, state.segment, result.state, output, overtaken)
        update.report(self._note)
        if not partial.is_final:
            self._open[partial.segment] = OpenSegment(result.state)
            self._forget_oldest(partial.channel)
        return update.translation(self._clock, seconds)

    def _forget_oldest(self, stream: str) -> None:
        if len(self._open) > MAX_OPEN:
            pending = {partial.segment for partial in self._pending.values()}
            quiet = next((segment for segment in self._open if segment not in pending), None)
            if quiet is not None:
                del self._open[quiet]
                self._served.forget(stream, quiet)


def _unfinished(state: StageState) -> Iterable[Partial]:
    """What an interrupted run had not translated, with or without rooms; it is taken out of ``state``."""
    waiting = []
    for segment in state.open.values():
        if segment.waiting is not None:
            waiting.append(segment.waiting)
            segment.waiting = None
    return [*state.pending, *waiting]
