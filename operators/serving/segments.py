"""Rooms whose updates a translator translates."""

from time import perf_counter
from typing import NamedTuple

from operators.decoding.translator import Output, SegmentState, Translates
from operators.serving.rooms import Rooms, Update, Waiting, Working
from operators.serving.scheduler import Scheduler


class Translated(NamedTuple):
    """The translation of an update."""

    output: Output
    #: Seconds from the update's start until it was translated, in passes that other rooms share.
    seconds: float


#: Rooms of a translator.
SegmentRooms = Rooms[SegmentState, Translated]


def rooms_of(scheduler: Scheduler, translator: Translates, *, keep_up: bool) -> SegmentRooms:
    """Rooms on ``scheduler``, which must also be the translator's decoder; ``keep_up`` is as in `Rooms`."""

    def work(waiting: Waiting, state: SegmentState | None) -> Working[SegmentState, Translated]:
        began, update = perf_counter(), waiting.update
        updating = translator.updating(
            update.key, state or SegmentState(), update.text,
            is_final=update.is_final, is_stable=update.is_stable,
        )  # fmt: skip
        after, output = yield from updating
        return after, Translated(output, perf_counter() - began)

    def release(update: Update, state: SegmentState) -> None:
        translator.release(update.key, state)

    return Rooms(scheduler, work, release, keep_up=keep_up)
