"""Runs many methods concurrently on one model: their requests are batched and answered in one pass."""

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from time import perf_counter
from typing import Generic, NamedTuple, Protocol, TypeVar

from operators.decoding.decoder import Decode
from operators.decoding.drive import Cost, CostMeter, trunk
from operators.decoding.forward import NO_ROWS, AskDraftModel, BeamForward, Decoded, Forward, Logits, Request
from operators.decoding.pass_cost import FLAT, PassCosts
from operators.trouble import ModelTrouble

Item = TypeVar("Item", bound=Hashable)

#: Maximum number of consecutive finals served while others wait. It also limits how many requests of finals
#: may be served ahead of one that did not fit into a pass.
PATIENCE = 4
# Jobs are started until they request this share of an efficient pass. A job that has not begun can still be
# overtaken by a newer update, and one that has begun waits for the passes of all others.
_ENOUGH = 0.5
# With more jobs than this at a time, only finals are decoded with a beam search: what it evaluates delays the
# updates of all others.
_MAX_SEARCHING = 2
# A request joins a pass if that costs at most this share of a pass of its own: sharing saves time, but all
# of them wait for the whole pass.
_WORTH = 0.85
#: A token may cost more than in the cheapest pass by this share, because the last bit of throughput would
#: make every room wait longer.
_NEARLY = 0.1


class PassRequest(NamedTuple):
    """A request, and the key of the session that answers it."""

    key: str
    request: Forward | BeamForward


class PassAnswer(NamedTuple):
    """The answer to one request."""

    #: The answer, valid until the next one is taken; or the error that explains why there is none.
    logits: Logits | ModelTrouble
    #: Number of tokens of the request that were still in the cache.
    reused: int = 0
    #: Of these, tokens of the output that were kept although the prompt has changed.
    kept: int = 0


class Passes(Protocol):
    """One model with one session per key, up to a limit; a lost session only costs time."""

    #: Maximum number of sessions, and so of requests in one pass.
    most: int

    def size(self, asked: PassRequest) -> int:
        """Number of tokens that a pass has to evaluate to answer this."""
        ...

    def answer(self, asked: Sequence[PassRequest]) -> Iterator[PassAnswer]:
        """Answer requests of different keys together, in their order."""
        ...

    def succeed(self) -> None:
        """Record that an answer was fully usable."""
        ...

    def fail(self, key: str) -> None:
        """Drop what ``key`` holds, because something was wrong with an answer."""
        ...

    def release(self, key: str) -> None:
        """Free what ``key`` holds; unknown keys are ignored."""
        ...


class FairQueue(Generic[Item]):
    """Waiting items, each of them once: finals first, then the longest wait, without starvation."""

    def __init__(self) -> None:
        self._finals: deque[Item] = deque()
        self._others: deque[Item] = deque()
        # For each waiting item, whether it waits for a final. The deques may also hold items that moved.
        self._is_final: dict[Item, bool] = {}
        self._in_a_row = 0

    def __len__(self) -> int:
        return len(self._is_final)

    def __contains__(self, item: Item) -> bool:
        return item in self._is_final

    @property
    def has_final(self) -> bool:
        """Whether any item waits for a final."""
        return self._waits(self._finals, is_final=True)

    def join(self, item: Item, *, is_final: bool) -> None:
        """Join the end of the queue; a waiting item keeps its place, but moves up with its first final."""
        waits = self._is_final.get(item)
        if waits or waits == is_final:
            return
        self._is_final[item] = is_final
        (self._finals if is_final else self._others).append(item)

    def next(self) -> Item:
        """Remove and return the next item. Raises `IndexError` if none waits."""
        if not self._is_final:
            raise IndexError("nobody waits")
        is_final = self.has_final
        if self._waits(self._others, is_final=False) and is_final:
            is_final = self._in_a_row < PATIENCE
            self._in_a_row = self._in_a_row + 1 if is_final else 0
        else:
            self._in_a_row = 0
        item = (self._finals if is_final else self._others).popleft()
        del self._is_final[item]
        return item

    def _waits(self, line: deque[Item], *, is_final: bool) -> bool:
        """Whether any item waits in ``line``; items that have moved are removed from its front."""
        while line and self._is_final.get(line[0]) is not is_final:
            line.popleft()
        return bool(line)


class PassTimes:
    """What passes cost by their number of tokens, looked up in place of interpolated."""

    def __init__(self, costs: PassCosts, fill: int) -> None:
        #: Maximum number of tokens that requests share: beyond what was measured nothing is known.
        self.largest = max(fill, costs.tokens[-1])
        self._ms = [0.0, *(costs.of(tokens) for tokens in range(1, self.largest + 1))]

    def of(self, tokens: int) -> float:
        """Milliseconds of a pass over at most `largest` tokens."""
        return self._ms[tokens]


def select(pending: Sequence["Job"], times: PassTimes, most: int) -> list["Job"]:
    """The next pass: the first request, and up to ``most`` in all that save time by joining it.

    Finals are first, then the update that began first: as many updates as possible end early, rather than all
    of them late. A request that was passed over a few times counts as a final, so that none starves. Finals
    also join first, then the smallest. Of all numbers of them the one is chosen that saves most, where each
    must save a share of its own pass; a few tokens often cost more together than one after the other.
    """
    first, *others = sorted(pending, key=lambda one: (not _is_urgent(one), one.place))
    others.sort(key=lambda one: (not _is_urgent(one), one.size))
    if first.size > times.largest:
        return [first]
    tokens, alone_ms, most_saved_ms, joining = first.size, times.of(first.size), 0.0, 0
    for number, one in enumerate(others[: most - 1], 1):
        tokens += one.size
        if tokens > times.largest:
            break
        alone_ms += _WORTH * times.of(one.size)
        if (saved_ms := alone_ms - times.of(tokens)) >= most_saved_ms:
            most_saved_ms, joining = saved_ms, number
    return [first, *others[:joining]]


def _is_urgent(one: "Job") -> bool:
    return one.is_final or one.passed_over >= PATIENCE


def fill_of(costs: PassCosts) -> int:
    """The smallest pass whose cost per token is near the minimum, among passes up to the largest measured."""
    each = [costs.of(tokens) / tokens for tokens in range(1, costs.tokens[-1] + 1)]
    bearable = (1 + _NEARLY) * min(each)
    return next(tokens for tokens, ms in enumerate(each, 1) if ms <= bearable)


class Job:
    """One method, driven step by step between the passes of a scheduler."""

    def __init__(self, asked: Decode, *, has_draft_model: bool, may_search: Callable[[], bool]) -> None:
        """``may_search`` is asked whenever a beam search would begin; without one, decoding is greedy."""
        self.key = asked.key
        self.is_final = asked.is_final
        self._method = asked.method
        self._has_draft_model = has_draft_model
        self._may_search = may_search
        #: The request that it waits for, after its start; None when it has ended.
        self.request: Forward | BeamForward | None = None
        #: Whether the request is for the draft model.
        self.is_of_draft = False
        self.size = self.place = self.passed_over = 0
        self._decoded: Decoded | None = None
        #: Why it ended without a result. Any error other than `ModelTrouble` is a bug.
        self.error: Exception | None = None
        self._meters = {True: CostMeter(), False: CostMeter()}

    @property
    def has_ended(self) -> bool:
        """Whether there is a result, or an error."""
        return self._decoded is not None or self.error is not None

    @property
    def result(self) -> tuple[Decoded, Cost]:
        """The method's result and its effort. Raises the error that it ended with."""
        if self.error is not None:
            raise self.error
        assert self._decoded is not None, "a job that has not ended has no result"
        return self._decoded, self._meters[False].with_draft(self._meters[True])

    def begin(self) -> None:
        """Run the method up to its first request."""
        self._run(lambda: next(self._method))

    def answer(self, logits: Logits, reused: int, kept: int = 0) -> int:
        """Resume the method with the answer to its request; return the number of tokens evaluated for it."""
        assert self.request is not None, "only a request is answered"
        evaluated = max(0, self.request.logits_from + len(logits) - reused)
        self._meters[self.is_of_draft].add(evaluated, reused, kept)
        self._run(lambda: self._method.send(logits))
        return evaluated

    def fail(self, trouble: ModelTrouble) -> None:
        """Report that the model could not answer: the method goes on without a draft, or the job ends."""
        if self.is_of_draft:
            self._run(lambda: self._method.send(NO_ROWS))
        else:
            self.end(trouble)

    def end(self, error: Exception) -> None:
        """End the job without a result."""
        self.request, self.error = None, error
        self._method.close()

    def took(self, seconds: float, *, of_draft: bool) -> None:
        """Add the job's share of the cost of a pass."""
        self._meters[of_draft].took(seconds)

    def _run(self, step: Callable[[], Request]) -> None:
        self.request = None
        try:
            while self.request is None:
                self.request = self._passable(step())
                step = self._without_rows
        except StopIteration as end:
            self._decoded = end.value
        except Exception as error:  # noqa: BLE001 - it belongs to this room alone
            self.end(error)

    def _without_rows(self) -> Request:
        return self._method.send(NO_ROWS)

    def _passable(self, request: Request) -> Forward | BeamForward | None:
        """The request as a pass can answer it: of a tree, only the trunk; None if it is not answered."""
        self.is_of_draft = isinstance(request, AskDraftModel)
        if isinstance(request, AskDraftModel):
            return trunk(request.request) if self._has_draft_model else None
        if isinstance(request, BeamForward):
            return None if len(request.paths[0]) == 1 and not self._may_search() else request
        return trunk(request)


class Load(NamedTuple):
    """How full the passes of a scheduler were."""

    passes: int = 0
    #: Number of requests that they answered, and of tokens that they evaluated.
    requests: int = 0
    tokens: int = 0


class Scheduler:
    """Runs jobs on one model, and on an optional draft model; also a `Decoder`. For one thread.

    Results are the same as for one job at a time, whatever the order, apart from numerical differences of the
    model between passes of different sizes. But where many jobs run, unfinished text is decoded greedily
    instead of with a beam search.
    """

    def __init__(
        self,
        model: Passes,
        draft: Passes | None = None,
        *,
        fill: int,
        costs: PassCosts = FLAT,
        most: int | None = None,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        """Run up to ``most`` jobs at a time (default: one per session); with 1, one after the other.

        ``fill`` is the number of tokens from which on a pass is efficient. Requests share passes where that
        saves time by ``costs``; by default it always does, up to ``fill`` tokens.
        """
        self._model = model
        self._draft = draft
        self._enough = _ENOUGH * fill
        self._times = PassTimes(costs, fill)
        self._most = min(model.most, draft.most if draft else model.most, most or model.most)
        self._clock = clock
        self._queue: FairQueue[Job] = FairQueue()
        self._running: list[Job] = []
        self._begun = 0
        self.load = Load()

    @property
    def is_idle(self) -> bool:
        """Whether there are no jobs."""
        return not self._running and not self._queue

    def has_room(self, *, is_final: bool) -> bool:
        """Whether another job could start at once.

        Only a final starts while there is enough work for the next pass.
        """
        if self._queue or len(self._running) >= self._most:
            return False
        return is_final or not self._has_enough

    def add(self, asked: Decode) -> Job:
        """Run a method as soon as there is room for it.

        Only one method runs at a time for a key.
        """
        job = Job(
            asked,
            has_draft_model=self._draft is not None,
            may_search=lambda: asked.is_final or len(self._running) <= _MAX_SEARCHING,
        )
        self._queue.join(job, is_final=job.is_final)
        self._begin()
        return job

    def step(self) -> list[Job]:
        """Make a pass of each model that has requests; return the jobs that have ended by then."""
        self._begin()
        for passes, of_draft in ((self._model, False), (self._draft, True)):
            pending = [
                job for job in self._running if job.request is not None and job.is_of_draft is of_draft
            ]
            if pending and passes is not None:
                self._pass(passes, pending, of_draft=of_draft)
        ended = [job for job in self._running if job.has_ended]
        self._running = [job for job in self._running if not job.has_ended]
        return ended

    def decode(self, asked: Decode) -> tuple[Decoded, Cost]:
        """Run the method while other jobs go on; return its result and effort, or raise its error."""
        job = self.add(asked)
        while not job.has_ended:
            self.step()
        return job.result

    def release(self, key: str) -> None:
        """Free what ``key`` holds; unknown keys are ignored."""
        self._model.release(key)
        if self._draft is not None:
            self._draft.release(key)

    def abandon(self, error: Exception) -> list[Job]:
        """End all jobs with ``error``; their sessions are dropped."""
        jobs = [*self._running, *(self._queue.next() for _ in range(len(self._queue)))]
        self._running = []
        for job in jobs:
            job.end(error)
            self.release(job.key)
        return jobs

    @property
    def _has_enough(self) -> bool:
        """Whether running jobs request enough for the next pass."""
        return sum(job.size for job in self._running) >= self._enough

    def _begin(self) -> None:
        """Start the waiting jobs that there is room for."""
        while self._queue and len(self._running) < self._most:
            if not self._queue.has_final and self._has_enough:
                break
            job = self._queue.next()
            job.place = self._begun = self._begun + 1
            job.begin()
            self._running.append(job)
            if not job.has_ended:
                self._wait(job)

    def _wait(self, job: Job) -> None:
        """Record that a job waits for a pass from now on."""
        assert job.request is not None, "a job that goes on asks for something"
        passes = self._draft if job.is_of_draft else self._model
        assert passes is not None, "without a draft model none is asked"
        job.size = passes.size(PassRequest(job.key, job.request))
        job.passed_over = 0

    def _pass(self, passes: Passes, pending: list[Job], *, of_draft: bool) -> None:
        chosen = select(pending, self._times, passes.most)
        asked = [PassRequest(job.key, job.request) for job in chosen if job.request is not None]
        evaluated, seconds, began = list[int](), 0.0, self._clock()
        # A method processes its rows before the next answer is taken, because that may overwrite them.
        for job, answered in zip(chosen, passes.answer(asked), strict=True):
            seconds += self._clock() - began
            if isinstance(answered.logits, ModelTrouble):
                passes.fail(job.key)
                job.fail(answered.logits)
                evaluated.append(0)
            else:
                evaluated.append(job.answer(answered.logits, answered.reused, answered.kept))
                self._learn(passes, job)
            began = self._clock()
        total = sum(evaluated)
        self.load = Load(self.load.passes + 1, self.load.requests + len(chosen), self.load.tokens + total)
        for job in pending:
            job.passed_over += 1
        for job, own in zip(chosen, evaluated, strict=True):
            # Each job pays for its share of the tokens, so that the shares add up to the whole pass.
            job.took(seconds * own / max(1, total), of_draft=of_draft)
            if not job.has_ended:
                self._wait(job)

    def _learn(self, passes: Passes, job: Job) -> None:
        """Tell the model whether a job that has ended succeeded."""
        if job.error is not None:
            # As after a failed pass: the cache may hold the error.
            passes.fail(job.key)
            if self._draft is not None:
                self._draft.fail(job.key)
        elif job.has_ended:
            passes.succeed()
