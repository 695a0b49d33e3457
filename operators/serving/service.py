"""Translation services: what translates the updates of streams, in the caller's thread or in one of its own.

A stream has only one update in progress at a time, because its drafts build on each other. Streams that keep
up with live speech are served finals first, and of a segment's waiting partials only the newest; of other
streams every update is translated, in its order. A final is never dropped.
"""

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import chain
from queue import SimpleQueue
from threading import Lock, Thread
from time import perf_counter
from typing import Any, NamedTuple

from typing_extensions import override

from operators.decoding.drive import DecodeRequest
from operators.decoding.translator import Output, SegmentState, SegmentTranslator, Updating
from operators.events import Partial
from operators.model_errors import ModelError
from operators.serving.scheduler import PATIENCE, ScheduledJob, Scheduler

#: Maximum number of unfinished segments whose state is kept per stream; no recogniser has more than a few.
#: Beyond that, the one that was translated longest ago is dropped, and starts again if it comes back.
MAX_OPEN = 1024
#: Sentences that a `BatchService` translates together. A pass over sixteen tokens costs a CPU as much as
#: three or four passes over one; beyond that little is gained.
BATCH = 16
#: Seconds of silence after which a stream frees its place; streams have no other end.
QUIET_S = 600.0
# Maximum number of refused streams that are remembered and named to the user.
_MAX_REFUSED = 1000
# Passes of other models after which one that waits counts as if it had a final: some updates take so many.
_MAX_LEFT_OUT = 32


class Response(NamedTuple):
    """The translation of an update; it has superseded all earlier ones of its segment that were pending."""

    partial: Partial
    #: The state of its segment after it.
    state: SegmentState
    output: Output
    #: Seconds from the update's start until it was translated, in passes that other streams share.
    seconds: float


#: Receives each response, or an error, which is always a defect.
Deliver = Callable[[Response | Exception], None]


def remember(states: dict[int, SegmentState], response: Response) -> None:
    """Keep the state of an open segment after a response, as the most recent one."""
    states.pop(response.partial.segment, None)
    if not response.partial.is_final:
        states[response.partial.segment] = response.state
    if len(states) > MAX_OPEN:
        del states[next(iter(states))]


class QueuedUpdate(NamedTuple):
    partial: Partial
    #: Since when its segment has waited, in seconds.
    since_s: float


class StreamQueue:
    """The waiting updates of one stream, and the states of its open segments; for one thread at a time."""

    def __init__(self, states: Mapping[int, SegmentState], deliver: Deliver, *, keep_up: bool) -> None:
        """With ``keep_up`` the queue serves finals first, and of a segment's partials only the newest."""
        self.deliver = deliver
        self.states = dict(states)
        #: Whether the first partial has waited since an earlier turn of a `DirectService`.
        self.has_waited = False
        self._keep_up = keep_up
        # The finals; without ``keep_up``, all updates.
        self._due: deque[QueuedUpdate] = deque()
        # The newest partial of each segment.
        self._partials: dict[int, QueuedUpdate] = {}

    def __len__(self) -> int:
        return len(self._due) + len(self._partials)

    @property
    def is_due(self) -> bool:
        """Whether the next update is to be translated at once: a final, or any without ``keep_up``."""
        return bool(self._due)

    @property
    def first(self) -> QueuedUpdate | None:
        """The update that `take` returns: what is due, else the partial that has waited longest."""
        return self._due[0] if self._due else next(iter(self._partials.values()), None)

    @property
    def has_final(self) -> bool:
        return self.first is not None and self.first.partial.is_final

    def put(self, partial: Partial, now_s: float = 0.0) -> None:
        """Add an update, which supersedes a waiting partial of its segment."""
        before = self._partials.get(partial.segment)
        waiting = QueuedUpdate(partial, now_s if before is None else before.since_s)
        if partial.is_final or not self._keep_up:
            self._partials.pop(partial.segment, None)
            self._due.append(waiting)
        else:
            # In the place of the one that it supersedes, because the segment has waited since then.
            self._partials[partial.segment] = waiting

    def take(self) -> QueuedUpdate:
        """Remove and return the next update; there must be one."""
        return self._due.popleft() if self._due else self._partials.pop(next(iter(self._partials)))

    def respond(self, response: Response) -> None:
        remember(self.states, response)
        self.deliver(response)


class FairQueue:
    """Streams that wait for their turn: finals first, then the longest wait, without starvation."""

    def __init__(self) -> None:
        # Whose next update is a final, and all others, in their order.
        self._finals: dict[StreamQueue, None] = {}
        self._others: dict[StreamQueue, None] = {}
        self._in_a_row = 0

    def __len__(self) -> int:
        return len(self._finals) + len(self._others)

    def __iter__(self) -> Iterator[StreamQueue]:
        return chain(self._finals, self._others)

    @property
    def has_final(self) -> bool:
        return bool(self._finals)

    def join(self, stream: StreamQueue) -> None:
        """Join the end of the queue; a waiting stream keeps its place, but moves up with its first final."""
        if stream.has_final:
            self._others.pop(stream, None)
            self._finals.setdefault(stream)
        elif stream not in self._finals:
            self._others.setdefault(stream)

    def leave(self, stream: StreamQueue) -> None:
        self._finals.pop(stream, None)
        self._others.pop(stream, None)

    def next(self) -> StreamQueue:
        """Remove and return the next stream; there must be one."""
        is_final = self.has_final and not (self._others and self._in_a_row >= PATIENCE)
        self._in_a_row = self._in_a_row + 1 if is_final and self._others else 0
        line = self._finals if is_final else self._others
        stream = next(iter(line))
        del line[stream]
        return stream


class Service(ABC):
    """Translates what stages submit, each of which has a queue for its stream."""

    #: How long a stage with pending updates waits before it calls `advance` and looks for responses; None if
    #: they come only when it submits more, or at the end.
    poll: timedelta | None = None
    #: Whether responses come without `advance`, `finish` or another `submit`.
    is_concurrent = False

    @abstractmethod
    def submit(self, stream: StreamQueue, partials: Iterable[Partial]) -> None:
        """Add updates to the queue of a stream. Responses are delivered now or later."""

    def advance(self, stream: StreamQueue) -> None:  # noqa: B027 - not all services take turns
        """Begin the next turn of a stage that has pending updates."""

    def finish(self, stream: StreamQueue) -> None:  # noqa: B027 - not all need it
        """Translate all that is pending, because nothing more comes. Responses may be delivered later."""


class DirectService(Service):
    """Translates in the thread of the caller: what is due at once, and one partial in each further turn."""

    poll = timedelta(0)

    def __init__(self, of: Callable[[Partial], SegmentTranslator]) -> None:
        """``of`` gives the translator of an update, by its languages."""
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
        # A partial waits for the turn after the finals, which are shown only when theirs ends; and for the
        # finals of other streams. One in each turn, as more finals may have come by then.
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
        """Take over ``scheduler``, which nothing else may use: the decoder of all translators of ``of``.

        ``of`` gives the translator of an update.
        """
        self._scheduler = scheduler
        self._of = of
        self._clock = clock
        # The streams that wait for their turn, and those with an update in progress.
        self._waiting = FairQueue()
        self._busy: set[StreamQueue] = set()
        self._working: dict[ScheduledJob, _ActiveUpdate] = {}
        #: Passes of other models for which it has waited since its last update ended.
        self.left_out = 0
        #: Called with a stream whose update has ended and that has more; another model may be next.
        self.onward: Callable[[StreamQueue], None] = self.join

    @property
    def is_idle(self) -> bool:
        return not self._waiting and not self._busy

    @property
    def streams(self) -> list[StreamQueue]:
        return [*self._waiting, *self._busy]

    @property
    def urgency(self) -> tuple[bool, float]:
        """What is less goes first: whether there is no final, and since when the first update has waited."""
        begun = [work.waiting for work in self._working.values()]
        waiting = [*begun, *(stream.first for stream in self._waiting if stream.first is not None)]
        has_final = self._waiting.has_final or any(one.partial.is_final for one in begun)
        # Others may have finals without end.
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
        """Begin what there is room for, and make the next pass."""
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
            # The languages of a stream have one clock, so each takes only its share of the passes.
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
    """Translates finals that nobody waits for in the thread of the caller, `BATCH` of a stream at a time."""

    def __init__(self, of: Callable[[Partial], ModelQueue]) -> None:
        """``of`` gives the model of an update. Nothing else may use the models."""
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
                # Sentences do not build on each other, so each is served as a stream of its own.
                model.put(StreamQueue({}, each.append, keep_up=False), partial)
                models.add(model)
            for model in models:
                while not model.is_idle:
                    model.step()
        share_s = (perf_counter() - began_s) / count
        for (response,) in responses:
            stream.respond(response._replace(seconds=share_s))


class ThreadService(Service):
    """Translates in a thread of its own, with one or several models.

    No lock is held while a model computes, so the updates of all workers share passes. A pass uses as many
    processors as make it faster; two at the same time would share them, and both results would be late. So
    one model computes at a time: the one whose update has waited longest, models with finals before others.
    """

    # Bytewax calls a stage only for values and at times. Looking so often costs 32 streams 3 % of a core.
    poll = timedelta(milliseconds=1)
    is_concurrent = True

    def __init__(self, models: Sequence[ModelQueue], of: Callable[[Partial], ModelQueue]) -> None:
        """Begin the thread; nothing else may use the models from now on.

        ``of`` gives the one of ``models`` that translates an update.
        """
        self._models = models
        self._of = of
        for model in models:
            model.onward = self._join
        # What to do next, or None to end the thread.
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
        except Exception as error:  # noqa: BLE001 - a defect; every waiting stream gets it
            self._defect = error
            waiting = {stream for model in self._models for stream in model.streams}
            while not self._inbox.empty():
                if (submitted := self._inbox.get()) is not None:
                    waiting.add(submitted[0])
            for stream in waiting:
                stream.deliver(error)

    def _serve(self) -> None:
        while True:
            # Everything that has come by now is in the next pass.
            while not self._inbox.empty() or all(model.is_idle for model in self._models):
                submitted = self._inbox.get()
                if submitted is None:
                    return
                stream, partial = submitted
                stream.put(partial, perf_counter())
                self._join(stream)
            self._next_model().step()

    def _join(self, stream: StreamQueue) -> None:
        """Give a stream to the model of its next update: the speaker may have changed the language."""
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


class AdmissionControl:
    """Admits up to ``most`` streams of a flow; any further one is refused in a sentence. Thread-safe."""

    def __init__(self, most: int, now: Callable[[], float], tell: Callable[[str], None]) -> None:
        """``tell`` gets one sentence about each stream that is refused, once."""
        self._most = most
        self._now = now
        self._tell = tell
        self._lock = Lock()
        self._heard_s: dict[str, float] = {}
        #: Updates that were refused, and the first streams of which they were.
        self.refused = 0
        self._streams: set[str] = set()

    def admits(self, stream: str) -> bool:
        """Whether the stream of an incoming update is admitted."""
        with self._lock:
            now = self._now()
            if stream not in self._heard_s and len(self._heard_s) >= self._most:
                for quiet in [one for one, heard_s in self._heard_s.items() if now - heard_s >= QUIET_S]:
                    del self._heard_s[quiet]
                if len(self._heard_s) >= self._most:
                    self._refuse(stream)
                    return False
            self._heard_s[stream] = now
            return True

    def complaint(self) -> str | None:
        """The message at the end of a run that refused streams."""
        with self._lock:
            if not self.refused:
                return None
            updates, streams = self.refused, len(self._streams)
        least = "at least " if streams == _MAX_REFUSED else ""
        return (
            f"{updates} {'update' if updates == 1 else 'updates'} of {least}{streams} "
            f"{'stream' if streams == 1 else 'streams'} without a place were left out; raise translate.rooms"
        )

    def _refuse(self, stream: str) -> None:
        self.refused += 1
        if stream not in self._streams and len(self._streams) < _MAX_REFUSED:
            self._streams.add(stream)
            self._tell(
                f"room {stream!r} has no place: {self._most} rooms are in, the most that translate.rooms "
                "allows; raise it, or wait until another room has ended"
            )
