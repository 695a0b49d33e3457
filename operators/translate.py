"""The translate stage: every update of a segment is translated anew, the last output being the draft."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from time import perf_counter

import msgspec
from bytewax import operators as op
from bytewax.dataflow import Stream, operator
from bytewax.operators import KeyedStream, StatefulBatchLogic
from typing_extensions import override

from operators.clock import Clock
from operators.decoding.translator import SegmentState, Translator
from operators.events import Partial, Translation
from operators.text_layout import cleaned
from operators.trouble import Trouble

_log = logging.getLogger(__name__)


class StageState(msgspec.Struct, frozen=True):
    """What an open segment has to remember: small and picklable."""

    segment: SegmentState = SegmentState()
    #: The newest partial, while it waits for its turn.
    waiting: Partial | None = None
    #: Partials since the last translation that newer ones overtook.
    overtaken: int = 0


@operator
def translate(
    step_id: str,
    up: Stream[Partial],
    translator: Callable[[], Translator],
    clock: Clock,
    *,
    keep_up: bool = False,
    note: Callable[[Trouble | None, str], None] = lambda _trouble, _why: None,
) -> Stream[Translation]:
    """Translate partials, in the order of their segment.

    To keep up with live speech, a final is translated as soon as it comes, and of all partials of a segment
    that came while the model was busy only the newest, after the finals: the others are counted and never
    translated. So what the model begins with is at most one of its steps old, unless segments end faster than
    it makes a step. The state of a segment is freed with its final.

    :arg step_id: Unique id.
    :arg up: Partials of any number of streams.
    :arg translator: Gives the process's translator; called where the work is done, not where the flow
        is built.
    :arg clock: Says when a translation was done.
    :arg keep_up: Translate only the newest of what waits, instead of each.
    :arg note: Told how each update went with the model: what was wrong, and more of that for a person.
    """

    def build(resume: StageState | None) -> _Segment:
        return _Segment(translator(), clock, resume or StageState(), note, keep_up=keep_up)

    keyed: KeyedStream[Partial] = op.key_on("key", up, lambda partial: partial.key)
    translated = op.stateful_batch("segment", keyed, build)
    return op.key_rm("unkey", translated)


class _Segment(StatefulBatchLogic[Partial, Translation, StageState]):
    def __init__(
        self,
        translator: Translator,
        clock: Clock,
        state: StageState,
        note: Callable[[Trouble | None, str], None],
        *,
        keep_up: bool,
    ) -> None:
        self._translator = translator
        self._clock = clock
        self._note = note
        self._keep_up = keep_up
        self._segment = state.segment
        self._waiting = state.waiting
        self._overtaken = state.overtaken
        self._due = datetime.now(UTC) if state.waiting else None
        self._had_its_turn = False

    @override
    def on_batch(self, values: list[Partial]) -> tuple[list[Translation], bool]:
        if not self._keep_up:
            return [self._translate(partial) for partial in values], values[-1].is_final
        newest = values[-1]
        self._overtaken += len(values) - 1 + (self._waiting is not None)
        self._waiting = None
        if newest.is_final:
            return [self._translate(newest)], StatefulBatchLogic.DISCARD
        self._waiting = newest
        if self._due is None:
            self._due = datetime.now(UTC)
            self._had_its_turn = False
        return [], StatefulBatchLogic.RETAIN

    @override
    def on_notify(self) -> tuple[list[Translation], bool]:
        # The first call comes in the same turn as the finals of other segments, whose captions would
        # only be shown when the turn is over.
        if not self._had_its_turn:
            self._had_its_turn = True
            return [], StatefulBatchLogic.RETAIN
        return self._translate_waiting(), StatefulBatchLogic.RETAIN

    @override
    def notify_at(self) -> datetime | None:
        return self._due

    @override
    def on_eof(self) -> tuple[list[Translation], bool]:
        return self._translate_waiting(), StatefulBatchLogic.RETAIN

    @override
    def snapshot(self) -> StageState:
        return StageState(self._segment, self._waiting, self._overtaken)

    def _translate_waiting(self) -> list[Translation]:
        waiting, self._waiting, self._due = self._waiting, None, None
        return [] if waiting is None else [self._translate(waiting)]

    def _translate(self, partial: Partial) -> Translation:
        began = perf_counter()
        windows = len(self._segment.windows)
        self._segment, output = self._translator.update(
            partial.key, self._segment, partial.text, is_final=partial.is_final
        )
        name = f"segment {cleaned(partial.key)}"
        if windows <= 1 < len(self._segment.windows):
            _log.warning("%s is longer than the context and is translated in parts", name)
        self._note(output.trouble, f"{name}: {output.why}" if output.why else name)
        if partial.is_final:
            self._translator.release(partial.key, self._segment)
        total_s = perf_counter() - began
        ready_s = self._clock.done(partial.stream, partial.arrival_s, total_s)
        overtaken, self._overtaken = self._overtaken, 0
        return Translation(
            stream=partial.stream,
            segment=partial.segment,
            revision=partial.revision,
            is_final=partial.is_final,
            source=partial.text,
            text="".join(output.pieces),
            tokens=output.tokens,
            pieces=output.pieces,
            start_s=partial.start_s,
            end_s=partial.end_s,
            arrival_s=partial.arrival_s,
            started_s=max(partial.arrival_s, ready_s - total_s),
            ready_s=ready_s,
            overtaken=overtaken,
            effort=output.effort.with_total(total_s),
            trouble=output.trouble,
        )
