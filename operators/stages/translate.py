"""The translate stage: submits the updates of each stream to a service, and emits its translations."""

import logging
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from queue import SimpleQueue

import msgspec
from bytewax import operators as op
from bytewax.dataflow import Stream, operator
from bytewax.operators import KeyedStream, StatefulBatchLogic
from typing_extensions import override

from operators.clock import Clock
from operators.decoding.translator import SegmentState
from operators.events import Partial, Translation, channel_of, moment_of
from operators.model_errors import ErrorKind
from operators.serving.queues import Response, StreamQueue, remember
from operators.serving.service import Service
from operators.stages.snapshots import Silence, pack, unpack
from operators.text import cleaned

_log = logging.getLogger(__name__)

# Maximum number of pending updates of a stream that keeps up with live speech, and of another one. At the
# limit the worker waits, and so does the source: a recording must not be read long before its captions, and
# live speech must not fill the memory.
_MAX_PENDING, _MAX_AHEAD = 1000, 16

#: Called with the outcome of each update: the failure, if any, and details for a person.
Note = Callable[[ErrorKind | None, str], None]


class StageState(msgspec.Struct, array_like=True):
    #: The open segments after the received responses, the most recent last.
    open: dict[int, SegmentState] = {}
    #: Submitted updates without a response, in order.
    pending: list[Partial] = []


@operator
def translate(
    step_id: str,
    up: Stream[Partial],
    service: Callable[[], Service],
    clock: Clock,
    *,
    keep_up: bool = False,
    note: Note = lambda _trouble, _why: None,
) -> Stream[Translation]:
    """Translate partials; those of one stream are translated in order and on one worker.

    To keep up with live speech, finals are translated first, as soon as they come. If several partials of a
    segment came while the model was busy, only the newest is translated; the others are only counted. So an
    update that the model starts on is at most one model step old, unless segments end faster than the model
    makes a step. The state of a segment is freed with its final, or if its stream is silent for a day.

    Delivery: exactly once with recovery. The snapshot holds submitted updates without a response. They are
    translated again after a resume, possibly by another service.

    Args:
        up: Partials of any number of streams.
        service: Returns the process's translation service; called on the worker, not when the flow is built.
        keep_up: Translate only the newest waiting partial of a segment, instead of all.
        note: Called with the outcome of each update: the failure, if any, and details for a person.

    Example:
        >>> from bytewax import operators as op
        >>> from bytewax.dataflow import Dataflow
        >>> from bytewax.testing import TestingSink, run_main
        >>> from pathlib import Path
        >>> from connectors import JsonlSource
        >>> from flows import TranslateSettings, open_engine
        >>> from operators import Partial, VirtualClock, translate
        >>> from operators.serving.service import DirectService
        >>> settings = TranslateSettings(source="English", to="German", threads=2)
        >>> flow, translations = Dataflow("example"), []
        >>> partials = op.input("in", flow, JsonlSource(Path("partials.jsonl"), Partial))
        >>> translator = open_engine(settings).translator(settings)
        >>> service = lambda: DirectService(lambda _update: translator)
        >>> translated = translate("translate", partials, service, VirtualClock())
        >>> op.output("out", translated, TestingSink(translations))
        >>> run_main(flow)
        >>> translations[-1].is_final
        True
    """

    def build(resume: bytes | None) -> _Stream:
        state = StageState() if resume is None else unpack(resume, StageState)
        return _Stream(service(), clock, state, note, keep_up=keep_up)

    # Keyed by stream, not by segment, because several workers would emit a stream's captions in any order.
    keyed: KeyedStream[Partial] = op.key_on("key", up, lambda partial: partial.channel)
    translated = op.stateful_batch("segment", keyed, build)
    return op.key_rm("unkey", translated)


class _Stream(StatefulBatchLogic[Partial, Translation, bytes]):
    def __init__(
        self, service: Service, clock: Clock, state: StageState, note: Note, *, keep_up: bool
    ) -> None:
        self._service = service
        self._clock = clock
        self._note = note
        self._open = state.open
        # Updates that an interrupted run had not translated; submitted first.
        self._restored = state.pending
        self._pending: list[Partial] = []
        # Another thread may fill it.
        self._responses: SimpleQueue[Response | Exception] = SimpleQueue()
        self._queue = StreamQueue(self._open, self._responses.put, keep_up=keep_up)
        self._most_pending = _MAX_PENDING if keep_up else _MAX_AHEAD
        self._silence = Silence()

    @override
    def on_batch(self, values: list[Partial]) -> tuple[list[Translation], bool]:
        self._silence.broken()
        self._submit(values)
        most = self._most_pending if self._service.is_concurrent else len(self._pending)
        return self._received(most), self._is_over

    @override
    def on_notify(self) -> tuple[list[Translation], bool]:
        if self._restored or self._pending:
            self._silence.broken()
            self._submit(())
            self._service.advance(self._queue)
            return self._received(len(self._pending)), self._is_over
        return [], self._silence.is_long()

    @override
    def notify_at(self) -> datetime | None:
        if self._restored:
            return datetime.now(UTC)
        if self._pending and self._service.poll is not None:
            return datetime.now(UTC) + self._service.poll
        return self._silence.look_at

    @override
    def on_eof(self) -> tuple[list[Translation], bool]:
        self._submit(())
        self._service.finish(self._queue)
        return self._received(most_pending=0), StatefulBatchLogic.RETAIN

    @override
    def snapshot(self) -> bytes:
        return pack(StageState(self._open, [*self._pending, *self._restored]))

    @property
    def _is_over(self) -> bool:
        return not (self._open or self._pending)

    def _submit(self, partials: Iterable[Partial]) -> None:
        new = [*self._restored, *partials]
        self._restored = []
        self._pending += new
        self._service.submit(self._queue, new)

    def _received(self, most_pending: int) -> list[Translation]:
        done = []
        while not self._responses.empty() or len(self._pending) > most_pending:
            done.append(self._translation(self._responses.get()))
        return done

    def _translation(self, response: Response | Exception) -> Translation:
        if isinstance(response, Exception):
            raise response
        partial, output, total_s = response.partial, response.output, response.seconds
        place = next(place for place, one in enumerate(self._pending) if one is partial)
        others = [one for one in self._pending[:place] if one.segment != partial.segment]
        self._pending[: place + 1] = others
        self._report(response)
        remember(self._open, response)
        # The languages of a stream share the model, so they share a queue of the clock. There are exceptions:
        # text that passes untranslated does not wait, and with several spoken languages each channel has its
        # own share of the passes.
        is_apart = partial.spoken or not output.effort.passes
        # With a separate name, because the stage that shows the channel is another server.
        server = channel_of(partial.stream, f"{partial.language or ''} made") if is_apart else partial.stream
        ready_s = self._clock.done(server, partial.arrival_s, total_s)
        return Translation(
            **moment_of(partial),
            source=partial.text,
            text="".join(output.pieces),
            tokens=output.tokens,
            pieces=output.pieces,
            started_s=max(partial.arrival_s, ready_s - total_s),
            ready_s=ready_s,
            overtaken=place - len(others),
            effort=output.effort.with_total(total_s),
            trouble=output.trouble,
            is_stable=partial.is_stable,
        )

    def _report(self, response: Response) -> None:
        """Report the outcome of the update, and log when a segment becomes longer than the context."""
        partial, output = response.partial, response.output
        name = f"segment {cleaned(partial.key)}"
        before = self._open.get(partial.segment, SegmentState())
        if len(before.windows) <= 1 < len(response.state.windows):
            where = {"event": "segment_split", "stream": partial.stream, "segment": partial.segment}
            _log.warning("%s is longer than the context and is translated in parts", name, extra=where)
        if output.trouble or output.effort.passes:  # untranslated text is no sign that the model works
            self._note(output.trouble, f"{name}: {output.why}" if output.why else name)
