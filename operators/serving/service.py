"""Translation services: they translate the updates of streams, in the caller's thread or in another one.

A stream has only one update in progress at a time, because its drafts build on each other.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from queue import SimpleQueue
from threading import Lock, Thread
from time import perf_counter
from typing import Any, NamedTuple

from typing_extensions import override

from operators.decoding.drive import DecodeRequest
from operators.decoding.translator import Output, SegmentState, SegmentTranslator, Updating
from operators.events import Partial
from operators.model_errors import ModelError
from operators.serving.queues import FairQueue, QueuedUpdate, Response, StreamQueue
from operators.serving.scheduler import ScheduledJob, Scheduler

#: Number of sentences that a `BatchService` translates together. On a CPU a pass over sixteen tokens costs as
#: much as three or four passes over one; a larger batch gains little.
BATCH = 16
# A model that waits counts as if it had a final after this many passes of other models; some updates need
# that many.
_MAX_LEFT_OUT = 32


class Service(ABC):
    """Translates the updates that stages submit; each stage has a queue for its stream."""

    #: How long a stage with pending updates waits before it calls `advance` and collects responses; None if
    #: they come only when it submits more, or at the end.
    poll: timedelta | None = None
    #: Whether responses come without `advance`, `finish` or another `submit`.
    is_concurrent = False

    @abstractmethod
    def submit(self, stream: StreamQueue, partials: Iterable[Partial]) -> None:
        """Add updates to the queue of a stream. Responses are delivered now or later."""

    def advance(self, stream: StreamQueue) -> None:  # noqa: B027 - optional
        """Begin the next round of a stage that has pending updates."""

    def finish(self, stream: StreamQueue) -> None:  # noqa: B027 - optional
        """Translate all pending updates at the end of the input. Responses may be delivered later."""


class DirectService(Service):
    """Translates in the caller's thread: due updates at once, and one partial in each further round."""

    poll = timedelta(0)

    def __init__(self, of: Callable[[Partial], SegmentTranslator]) -> None:
        """``of`` returns the translator of an update, by its languages."""
        self._of = of

    @override
    def submit(self, stream: StreamQueue, partials: Iterable[Partial]) -> None:
        for partial in partials:
            stream.put(partial)
        while stream.is_due:
            self._translate(stream)
            stream.has_waited = False

    @override
    def advance(self, stream: StreamQueue) -> None:
        # A partial waits until the round of the finals has ended, which shows them, and for the finals of
        # other streams. Each round translates one partial, because more finals may have come by then.
        if stream.has_waited:
            self._translate(stream)
        stream.has_waited = len(stream) > 0

    @override
    def finish(self, stream: StreamQueue) -> None:
        while stream:
            self._translate(stream)

    def _translate(self, stream: StreamQueue) -> None:
        began_s = perf_counter()
        partial = stream.take().partial
        translator, key = self._of(partial), partial.key
        before = stream.states.get(partial.segment, SegmentState())
        state, output = translator.update(
            key, before, partial.text, is_final=partial.is_final, is_stable=partial.is_stable
        )
        if partial.is_final:
            translator.release(key, state)
        stream.respond(Response(partial, state, output, perf_counter() - began_s))


class _ActiveUpdate(NamedTuple):
    stream: StreamQueue
    waiting: QueuedUpdate
    updating: Updating
    began_s: float


class ModelQueue:
    """The updates of any number of streams on one model, which share its passes; for one thread."""

    def __init__(
        self,
        scheduler: Scheduler,
        of: Callable[[Partial], SegmentTranslator],
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        """Take over ``scheduler``, the decoder of all translators of ``of``; nothing else may use it.

        ``of`` returns the translator of an update.
        """
        self._scheduler = scheduler
        self._of = of
        self._clock = clock
        # The streams that wait for their turn, and those with an update in progress.
        self._waiting = FairQueue()
        self._busy: set[StreamQueue] = set()
        self._working: dict[ScheduledJob, _ActiveUpdate] = {}
        #: Number of passes of other models since its last update ended.
        self.left_out = 0
        #: Called with a stream that has more updates when one has ended; another model may be next.
        self.onward: Callable[[StreamQueue], None] = self.join

    @property
    def is_idle(self) -> bool:
        return not self._waiting and not self._busy

    @property
    def streams(self) -> list[StreamQueue]:
        return [*self._waiting, *self._busy]

    @property
    def urgency(self) -> tuple[bool, float]:
        """Sort key, the smallest first: whether there is no final, and when the first update came."""
        begun = [work.waiting for work in self._working.values()]
        waiting = [*begun, *(stream.first for stream in self._waiting if stream.first is not None)]
        has_final = self._waiting.has_final or any(one.partial.is_final for one in begun)
        # Other models may always have finals.
        is_urgent = has_final or self.left_out >= _MAX_LEFT_OUT
        return not is_urgent, min((one.since_s for one in waiting), default=math.inf)

    def put(self, stream: StreamQueue, partial: Partial) -> None:
        stream.put(partial, self._clock())
        self.join(stream)

    def join(self, stream: StreamQueue) -> None:
        """Serve the next update of a stream, as soon as its update in progress has ended."""
        if not self.is_busy(stream):
            self._waiting.join(stream)

    def leave(self, stream: StreamQueue) -> None:
        """No longer serve the next update of a stream."""
        self._waiting.leave(stream)

    def is_busy(self, stream: StreamQueue) -> bool:
        """Whether an update of a stream is in progress."""
        return stream in self._busy

    def step(self) -> None:
        """Begin updates while there is room, and make the next pass."""
        while self._waiting and self._scheduler.has_room(is_final=self._waiting.has_final):
            self._begin(self._waiting.next())
        for job in self._scheduler.step():
            self._go_on(self._working.pop(job), job)

    def _begin(self, stream: StreamQueue) -> None:
        self._busy.add(stream)
        waiting, began_s = stream.take(), perf_counter()
        partial = waiting.partial
        updating = self._of(partial).updating(
            partial.key, stream.states.get(partial.segment, SegmentState()), partial.text,
            is_final=partial.is_final, is_stable=partial.is_stable,
        )  # fmt: skip
        self._go_on(_ActiveUpdate(stream, waiting, updating, began_s))

    def _go_on(self, work: _ActiveUpdate, job: ScheduledJob | None = None) -> None:
        """Begin the next method of an update, whose last one was ``job``."""
        try:
            decode = next(work.updating) if job is None else _answer(work.updating, job)
        except StopIteration as end:
            self._end(work, *end.value)
        else:
            self._working[self._scheduler.add(decode)] = work

    def _end(self, work: _ActiveUpdate, state: SegmentState, output: Output) -> None:
        stream, partial, seconds = work.stream, work.waiting.partial, perf_counter() - work.began_s
        if partial.is_final:
            self._of(partial).release(partial.key, state)
        if partial.language:
            # The languages of a stream share a clock, so each counts only its share of the passes.
            seconds = min(seconds, output.effort.model_s)
        stream.respond(Response(partial, state, output, seconds))
        self.left_out = 0
        self._busy.remove(stream)
        if stream:
            self.onward(stream)


def _answer(updating: Updating, job: ScheduledJob) -> DecodeRequest:
    if isinstance(job.error, ModelError):
        return updating.throw(job.error)
    return updating.send(job.result)


class BatchService(Service):
    """Translates finals without time limits in the caller's thread, `BATCH` of a stream at a time."""

    def __init__(self, of: Callable[[Partial], ModelQueue]) -> None:
        """``of`` returns the model of an update. Nothing else may use the models."""
        self._of = of
        self._lock = Lock()

    @override
    def submit(self, stream: StreamQueue, partials: Iterable[Partial]) -> None:
        for partial in partials:
            stream.put(partial)
        while len(stream) >= BATCH:
            self._translate(stream, BATCH)

    @override
    def finish(self, stream: StreamQueue) -> None:
        if stream:
            self._translate(stream, len(stream))

    def _translate(self, stream: StreamQueue, count: int) -> None:
        began_s = perf_counter()
        responses: list[list[Any]] = [[] for _ in range(count)]
        with self._lock:
            models = set[ModelQueue]()
            for each in responses:
                partial = stream.take().partial
                model = self._of(partial)
                # Sentences do not build on each other, so each is served as a separate stream.
                model.put(StreamQueue({}, each.append, keep_up=False), partial)
                models.add(model)
            for model in models:
                while not model.is_idle:
                    model.step()
        share_s = (perf_counter() - began_s) / count
        for (response,) in responses:
            stream.respond(response._replace(seconds=share_s))


class ThreadService(Service):
    """Translates in its own thread, with one or several models.

    No lock is held while a model computes, so the updates of all workers share passes. A pass uses as many
    processors as make it faster; two concurrent passes would share them, and both results would be late. So
    one model computes at a time: the one whose update has waited longest; models with finals come first.
    """

    # Bytewax calls a stage only for values and at set times. With 32 streams this takes 3 % of a core.
    poll = timedelta(milliseconds=1)
    is_concurrent = True

    def __init__(self, models: Sequence[ModelQueue], of: Callable[[Partial], ModelQueue]) -> None:
        """Begin the thread; nothing else may use the models from now on.

        ``of`` returns the one of ``models`` that translates an update.
        """
        self._models = models
        self._of = of
        for model in models:
            model.onward = self._join
        # Submitted updates, or None to end the thread.
        self._inbox: SimpleQueue[tuple[StreamQueue, Partial] | None] = SimpleQueue()
        self._defect: Exception | None = None
        # A daemon: the program waits for workers that wait for a response, but not for an idle model.
        self._thread = Thread(target=self._run, name="translation", daemon=True)
        self._thread.start()

    @override
    def submit(self, stream: StreamQueue, partials: Iterable[Partial]) -> None:
        for partial in partials:
            self._inbox.put((stream, partial))
            if self._defect is not None:
                raise self._defect

    def stop(self) -> None:
        """End the thread after the pass in progress; pending updates are dropped without a response."""
        self._inbox.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            self._serve()
        except Exception as error:  # noqa: BLE001 - a defect, passed to every waiting stream
            self._defect = error
            waiting = {stream for model in self._models for stream in model.streams}
            while not self._inbox.empty():
                if (submitted := self._inbox.get()) is not None:
                    waiting.add(submitted[0])
            for stream in waiting:
                stream.deliver(error)

    def _serve(self) -> None:
        while True:
            # All updates that have come by now join the next pass.
            while not self._inbox.empty() or all(model.is_idle for model in self._models):
                submitted = self._inbox.get()
                if submitted is None:
                    return
                stream, partial = submitted
                stream.put(partial, perf_counter())
                self._join(stream)
            self._next_model().step()

    def _join(self, stream: StreamQueue) -> None:
        """Queue a stream at the model of its next update, because the spoken language may have changed."""
        if any(model.is_busy(stream) for model in self._models):
            return
        assert stream.first is not None, "an update waits"
        own = self._of(stream.first.partial)
        for model in self._models:
            if model is not own:
                model.leave(stream)
        own.join(stream)

    def _next_model(self) -> ModelQueue:
        waiting = [model for model in self._models if not model.is_idle]
        chosen = min(waiting, key=lambda model: model.urgency)
        for model in waiting:
            model.left_out += model is not chosen
        return chosen
