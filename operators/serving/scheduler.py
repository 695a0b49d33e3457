"""Runs many methods concurrently on one model: their requests are batched and answered in one pass."""

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import NamedTuple, Protocol

from operators.decoding.drive import Cost, DecodeRequest, Job, trunk
from operators.decoding.forward import AskDraftModel, BeamForward, DecodingResult, Forward, Logits, Request
from operators.decoding.pass_cost import FLAT, PassCosts
from operators.model_errors import ModelError

#: Maximum number of consecutive finals served while others wait. It also limits how many requests of finals
#: may be served ahead of one that did not fit into a pass.
PATIENCE = 4
# Jobs are started until they request this share of an efficient pass. A job that has not begun can still be
# superseded by a newer update, and one that has begun waits for the passes of all others.
_ENOUGH = 0.5
# With more concurrent jobs than this, only finals are decoded with a beam search, because its passes delay
# the updates of all others.
_MAX_SEARCHING = 2
# A request joins a pass if that costs at most this share of a separate pass: sharing saves time, but all
# requests wait for the whole pass.
_WORTH = 0.85
#: A token may cost this share more than in the cheapest pass, because the maximum throughput would make every
#: room wait longer.
_NEARLY = 0.1


class PassRequest(NamedTuple):
    key: str
    request: Forward | BeamForward


class PassAnswer(NamedTuple):
    #: The answer, valid until the next one is taken, or the error.
    logits: Logits | ModelError
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
        """Drop the session of ``key``, because an answer was wrong."""
        ...

    def release(self, key: str) -> None:
        """Free the session of ``key``; unknown keys are ignored."""
        ...


class ScheduledJob(Job):
    #: The number of tokens to evaluate for its request, its place in the order in which jobs began, and the
    #: number of passes that did not include its request.
    size = place = passed_over = 0

    @property
    def has_ended(self) -> bool:
        return self.request is None

    @property
    def is_urgent(self) -> bool:
        """Whether its request goes first: that of a final, or one that was passed over `PATIENCE` times."""
        return self.is_final or self.passed_over >= PATIENCE


def select(pending: Sequence[ScheduledJob], pass_ms: Sequence[float], most: int) -> list[ScheduledJob]:
    """The next pass: the first request, and up to ``most`` in all that save time by joining it.

    Urgent requests are first, then the update that began first: many updates should end early rather than all
    of them late. Urgent requests also join first, then the smallest. The number of requests that saves most
    time is chosen, where each must save a share of its own pass; a few tokens often cost more together than
    one after the other.

    Args:
        pending: The waiting jobs, at least one.
        pass_ms: Milliseconds of a pass by its number of tokens, up to the largest that requests share.
        most: Maximum number of requests in a pass.
    """
    first, *others = sorted(pending, key=lambda one: (not one.is_urgent, one.place))
    others.sort(key=lambda one: (not one.is_urgent, one.size))
    if first.size >= len(pass_ms):
        return [first]
    tokens, alone_ms, most_saved_ms, joining = first.size, pass_ms[first.size], 0.0, 0
    for number, one in enumerate(others[: most - 1], 1):
        tokens += one.size
        if tokens >= len(pass_ms):
            break
        alone_ms += _WORTH * pass_ms[one.size]
        if (saved_ms := alone_ms - pass_ms[tokens]) >= most_saved_ms:
            most_saved_ms, joining = saved_ms, number
    return [first, *others[:joining]]


def pass_times(costs: PassCosts, fill: int) -> list[float]:
    """Milliseconds of passes by their number of tokens, up to the largest measured one or ``fill``."""
    largest = max(fill, costs.tokens[-1])
    return [0.0, *(costs.of(tokens) for tokens in range(1, largest + 1))]


def fill_of(costs: PassCosts) -> int:
    """The smallest pass whose cost per token is near the minimum, among passes up to the largest measured."""
    each = [costs.of(tokens) / tokens for tokens in range(1, costs.tokens[-1] + 1)]
    bearable = (1 + _NEARLY) * min(each)
    return next(tokens for tokens, ms in enumerate(each, 1) if ms <= bearable)


class Scheduler:
    """Runs jobs on one model, and on an optional draft model; also a `Decoder`. For one thread.

    Results are those of one job at a time, whatever the order, apart from numerical differences of the model
    between passes of different sizes. But if many jobs run, unfinished text is decoded greedily instead of
    with a beam search.
    """

    def __init__(
        self,
        model: Passes,
        draft: Passes | None = None,
        *,
        fill: int,
        costs: PassCosts = FLAT,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        """Run up to one job per session at a time.

        A pass is efficient from ``fill`` tokens on. Requests share passes if that saves time according to
        ``costs``; by default it always does, up to ``fill`` tokens.
        """
        self._model = model
        self._draft = draft
        self._enough = _ENOUGH * fill
        self._pass_ms = pass_times(costs, fill)
        self._most = min(model.most, draft.most if draft else model.most)
        self._clock = clock
        self._running: list[ScheduledJob] = []
        self._begun = 0

    def has_room(self, *, is_final: bool) -> bool:
        """Whether another job may start.

        Only a final starts while running jobs request enough for the next pass.
        """
        if len(self._running) >= self._most:
            return False
        return is_final or sum(job.size for job in self._running) < self._enough

    def add(self, decode: DecodeRequest) -> ScheduledJob:
        """Start a method; there must be a session for it. Only one method per key runs at a time."""
        job = ScheduledJob(decode, lambda request: self._passable(request, is_final=decode.is_final))
        job.place = self._begun = self._begun + 1
        self._running.append(job)
        self._wait(job)
        return job

    def step(self) -> list[ScheduledJob]:
        """Make a pass of each model that has requests; return the jobs that have ended by then."""
        for passes, of_draft in ((self._model, False), (self._draft, True)):
            pending = [job for job in self._running if not job.has_ended and job.is_of_draft is of_draft]
            if pending and passes is not None:
                self._pass(passes, pending, of_draft=of_draft)
        ended = [job for job in self._running if job.has_ended]
        self._running = [job for job in self._running if not job.has_ended]
        return ended

    def decode(self, decode: DecodeRequest) -> tuple[DecodingResult, Cost]:
        """Run the method while other jobs continue; return its result and cost, or raise its error."""
        job = self.add(decode)
        while not job.has_ended:
            self.step()
        return job.result

    def release(self, key: str) -> None:
        self._model.release(key)
        if self._draft is not None:
            self._draft.release(key)

    def _passable(self, request: Request, *, is_final: bool) -> Forward | BeamForward | None:
        """The request in a form that a pass can answer: only the trunk of a tree."""
        if isinstance(request, AskDraftModel):
            return None if self._draft is None else trunk(request.request)
        if isinstance(request, BeamForward):
            begins = len(request.paths[0]) == 1
            return None if begins and not is_final and len(self._running) > _MAX_SEARCHING else request
        return trunk(request)

    def _wait(self, job: ScheduledJob) -> None:
        passes = self._draft if job.is_of_draft else self._model
        if passes is not None and not job.has_ended:
            job.size, job.passed_over = passes.size(_request(job)), 0

    def _pass(self, passes: Passes, pending: list[ScheduledJob], *, of_draft: bool) -> None:
        chosen = select(pending, self._pass_ms, passes.most)
        evaluated, seconds, began = list[int](), 0.0, self._clock()
        # A method processes its rows before the next answer is taken, because that may overwrite them.
        for job, answered in zip(chosen, passes.answer([*map(_request, chosen)]), strict=True):
            seconds += self._clock() - began
            if isinstance(answered.logits, ModelError):
                passes.fail(job.key)
                job.fail(answered.logits)
                evaluated.append(0)
            else:
                evaluated.append(job.answer(answered.logits, answered.reused, answered.kept))
                self._learn(passes, job)
            began = self._clock()
        for job in pending:
            job.passed_over += 1
        for job, own in zip(chosen, evaluated, strict=True):
            # Each job pays for its share of the tokens; the shares add up to the whole pass.
            job.cost.took(seconds * own / max(1, sum(evaluated)), of_draft=of_draft)
            self._wait(job)

    def _learn(self, passes: Passes, job: ScheduledJob) -> None:
        if job.error is not None:
            # As after a failed pass: the cache may hold the error.
            passes.fail(job.key)
            if self._draft is not None:
                self._draft.fail(job.key)
        elif job.has_ended:
            passes.succeed()


def _request(job: ScheduledJob) -> PassRequest:
    assert isinstance(job.request, Forward | BeamForward), "only such a request is passed"
    return PassRequest(job.key, job.request)
