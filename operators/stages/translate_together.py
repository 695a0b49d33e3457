"""The translate stage for sentences that nobody waits for: many of them share the passes of a model."""

from collections.abc import Callable
from time import perf_counter

from bytewax import operators as op
from bytewax.dataflow import Stream, operator
from bytewax.operators import KeyedStream, StatefulBatchLogic
from typing_extensions import override

from operators.clock import Clock
from operators.decoding.translator import SegmentState
from operators.events import Partial, Translation, channel_of
from operators.serving import rooms
from operators.serving.rooms import Rooms
from operators.stages.snapshots import pack, unpack
from operators.stages.translation import Note, StageState, Update, no_note

#: Sentences that are translated together. A pass over sixteen tokens costs a CPU as much as three or four
#: passes over one; beyond that little is gained.
TOGETHER = 16


_Done = rooms.Done


@operator
def translate_together(
    step_id: str,  # noqa: ARG001 - Bytewax scopes the steps inside by it
    up: Stream[Partial],
    served: Callable[[str], Rooms],
    clock: Clock,
    *,
    note: Note = no_note,
) -> Stream[Translation]:
    """Translate finals of a stream, `TOGETHER` at a time, and give them in their order.

    Delivery: exactly once with recovery. The snapshot holds the sentences that wait for others.

    Args:
        step_id: Unique id.
        up: Finals. A stream that does not end keeps its last ones waiting.
        served: Gives what translates a stream (or a language of it); called on the worker, not when the flow
            is built.
        clock: Says when a translation was done.
        note: Called with the outcome of each update: what was wrong, and details for a person.
    """

    def build(resume: bytes | None) -> _Stream:
        state = StageState() if resume is None else unpack(resume, StageState)
        return _Stream(served, clock, state, note)

    keyed: KeyedStream[Partial] = op.key_on("key", up, lambda partial: partial.channel)
    return op.key_rm("unkey", op.stateful_batch("segments", keyed, build))


class _Stream(StatefulBatchLogic[Partial, Translation, bytes]):
    def __init__(self, served: Callable[[str], Rooms], clock: Clock, state: StageState, note: Note) -> None:
        self._served = served
        self._clock = clock
        self._waiting = state.pending
        self._note = note

    @override
    def on_batch(self, values: list[Partial]) -> tuple[list[Translation], bool]:
        self._waiting += values
        done = list[Translation]()
        while len(self._waiting) >= TOGETHER:
            done += self._translate()
        return done, not self._waiting

    @override
    def on_eof(self) -> tuple[list[Translation], bool]:
        return self._translate() if self._waiting else [], StatefulBatchLogic.RETAIN

    @override
    def snapshot(self) -> bytes:
        return pack(StageState(pending=list(self._waiting)))

    def _translate(self) -> list[Translation]:
        began = perf_counter()
        partials, self._waiting = self._waiting[:TOGETHER], self._waiting[TOGETHER:]
        served = self._served(partials[0].channel)
        for number, partial in enumerate(partials):
            # A room has one update in progress, so each sentence has a room, of the language of its stream.
            room = channel_of(f"{partial.stream}/{partial.segment:06d}", partial.language or "")
            served.hand_in(rooms.Update(room, partial.segment, partial.text, is_final=True, number=number))
        done = {one.update.number: one for one in _finished(served)}
        share_s = (perf_counter() - began) / len(partials)
        return [self._translation(partial, done[at], share_s) for at, partial in enumerate(partials)]

    def _translation(self, partial: Partial, done: _Done, share_s: float) -> Translation:
        update = Update(partial, SegmentState(), done.state, done.output, 0)
        update.report(self._note)
        return update.translation(self._clock, share_s)


def _finished(served: Rooms) -> list[_Done]:
    done = []
    while not served.is_idle:
        done += served.step()
    return done
