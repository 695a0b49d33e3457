"""The translate stage: translates every update of a segment anew, with the last output as the draft."""

from collections.abc import Callable
from datetime import UTC, datetime
from time import perf_counter

from bytewax import operators as op
from bytewax.dataflow import Stream, operator
from bytewax.operators import KeyedStream, StatefulBatchLogic
from typing_extensions import override

from operators.clock import Clock
from operators.decoding.translator import Translates
from operators.events import Partial, Translation
from operators.stages.snapshots import Silence, pack, unpack
from operators.stages.translation import MAX_OPEN, Note, OpenSegment, StageState, Update, no_note

# Bytewax compares this time with the wall clock, which may be set back; this time is always in the past.
_AT_ONCE = datetime(1970, 1, 1, tzinfo=UTC)


@operator
def translate(
    step_id: str,
    up: Stream[Partial],
    translator: Callable[[], Translates],
    clock: Clock,
    *,
    keep_up: bool = False,
    note: Note = no_note,
) -> Stream[Translation]:
    """Translate partials; those of one stream are translated in order and on one worker.

    To keep up with live speech, finals are translated first, as soon as they come. Of a segment's partials
    that came while the model was busy, only the newest is translated; the others are only counted. So an
    update that the model starts on is at most one model step old, unless segments end faster than the model
    makes a step. The state of a segment is freed with its final, or if its stream is silent for a day.

    Args:
        up: Partials of any number of streams.
        translator: Gives the process's translator; called on the worker, not when the flow is built.
        keep_up: Translate only the newest waiting partial of a segment, instead of each.
        note: Called with the outcome of each update: what was wrong, and details for a person.

    Example:
        >>> from bytewax import operators as op
        >>> from bytewax.dataflow import Dataflow
        >>> from bytewax.testing import TestingSink, run_main
        >>> from pathlib import Path
        >>> from connectors import JsonlSource
        >>> from flows import TranslateSettings, open_engine
        >>> from operators import Partial, VirtualClock, translate
        >>> settings = TranslateSettings(source="English", to="German", threads=2)
        >>> flow, translations = Dataflow("example"), []
        >>> partials = op.input("in", flow, JsonlSource(Path("partials.jsonl"), Partial))
        >>> translator = lambda: open_engine(settings).translator(settings)
        >>> translated = translate("translate", partials, translator, VirtualClock())
        >>> op.output("out", translated, TestingSink(translations))
        >>> run_main(flow)
        >>> translations[-1].is_final
        True
    """

    def build(resume: bytes | None) -> _Stream:
        state = StageState() if resume is None else unpack(resume, StageState)
        return _Stream(translator(), clock, state, note, keep_up=keep_up)

    # Keyed by stream, not by segment: several workers would pass on a stream's captions in any order.
    keyed: KeyedStream[Partial] = op.key_on("key", up, lambda partial: partial.channel)
    translated = op.stateful_batch("segment", keyed, build)
    return op.key_rm("unkey", translated)


class _Stream(StatefulBatchLogic[Partial, Translation, bytes]):
    def __init__(
        self, translator: Translates, clock: Clock, state: StageState, note: Note, *, keep_up: bool
    ) -> None:
        self._translator = translator
        self._clock = clock
        self._note = note
        self._keep_up = keep_up
        self._open = state.open
        #: What a run with rooms had not translated when it was interrupted.
        self._pending = state.pending
        self._due = _AT_ONCE if self._pending or self._waiting() else None
        #: Segments that have waited since an earlier turn.
        self._waited: set[int] = set()
        self._silence = Silence()

    @override
    def on_batch(self, values: list[Partial]) -> tuple[list[Translation], bool]:
        self._silence.broken()
        done = self._catch_up()
        for partial in values:
            if partial.segment not in self._open:
                self._make_room()
            state = self._open.setdefault(partial.segment, OpenSegment())
            if state.waiting is not None:
                state.waiting = None
                state.overtaken += 1
            if partial.is_final or not self._keep_up:
                done.append(self._translate(partial))
            else:
                state.waiting = partial
        self._due = _AT_ONCE if self._waiting() else None
        return done, not self._open

    @override
    def on_notify(self) -> tuple[list[Translation], bool]:
        if self._pending:
            return self._catch_up(), not self._open
        if self._due is None:
            return [], self._silence.is_long()
        # A segment that began to wait in this turn waits for the next one, because the finals translated in
        # this turn are shown only when it ends. One segment per turn, as more finals may have come by then.
        due = [partial for partial in self._waiting() if partial.segment in self._waited]
        self._waited = {partial.segment for partial in self._waiting()}
        done = [self._translate(partial) for partial in due[:1]]
        if not self._waiting():
            self._due = None
        return done, StatefulBatchLogic.RETAIN

    @override
    def notify_at(self) -> datetime | None:
        return self._due or self._silence.look_at

    @override
    def on_eof(self) -> tuple[list[Translation], bool]:
        self._due = None
        done = self._catch_up()
        return done + [self._translate(partial) for partial in self._waiting()], StatefulBatchLogic.RETAIN

    @override
    def snapshot(self) -> bytes:
        return pack(StageState(self._open, self._pending))

    def _catch_up(self) -> list[Translation]:
        """Translate what was pending when the run was interrupted."""
        pending, self._pending = self._pending, []
        return [self._translate(partial) for partial in pending]

    def _waiting(self) -> list[Partial]:
        return [state.waiting for state in self._open.values() if state.waiting is not None]

    def _make_room(self) -> None:
        if len(self._open) >= MAX_OPEN:
            # Waiting segments are always kept. The sessions of dropped ones are the first to be evicted.
            quiet = (number for number, state in self._open.items() if state.waiting is None)
            self._open.pop(next(quiet, -1), None)

    def _translate(self, partial: Partial) -> Translation:
        began = perf_counter()
        state = self._open.get(partial.segment, OpenSegment())
        before = state.segment
        after, output = self._translator.update(
            partial.key, before, partial.text, is_final=partial.is_final, is_stable=partial.is_stable
        )
        # Moved to the end, so that each of several waiting segments gets its turn.
        self._open.pop(partial.segment, None)
        self._waited.discard(partial.segment)
        update = Update(partial, before, after, output, state.overtaken)
        update.report(self._note)
        if partial.is_final:
            self._translator.release(partial.key, after)
        else:
            self._open[partial.segment] = OpenSegment(after)
        return update.translation(self._clock, perf_counter() - began)
