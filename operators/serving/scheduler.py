"""Runs many methods concurrently: their requests are batched and answered in one pass."""

from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

from operators.decoding.decoder import Decode
from operators.decoding.drive import Cost
from operators.decoding.forward import Decoded
from operators.decoding.pass_cost import FLAT, PassCosts
from operators.serving.job import Job
from operators.serving.line import Line
from operators.serving.order import PassTimes, select
from operators.serving.passes import Asked, Passes
from operators.trouble import ModelTrouble

# Jobs are started until they request this share of an efficient pass. A job that has not begun can still be
# overtaken by a newer update, and one that has begun waits for the passes of all others.
_ENOUGH = 0.5
# With more jobs than this at a time, only finals are decoded with a beam search: what it evaluates delays the
# updates of all others.
_MAX_SEARCHING = 2


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
        self._line: Line[Job] = Line()
        self._running: list[Job] = []
        self._begun = 0
        self.load = Load()

    @property
    def is_idle(self) -> bool:
        """Whether there are no jobs."""
        return not self._running and not self._line

    def has_room(self, *, is_final: bool) -> bool:
        """Whether another job could start at once.

        Only a final starts while there is enough work for the next pass.
        """
        if self._line or len(self._running) >= self._most:
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
        self._line.join(job, is_final=job.is_final)
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
        jobs = [*self._running, *(self._line.next() for _ in range(len(self._line)))]
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
        while self._line and len(self._running) < self._most:
            if not self._line.has_final and self._has_enough:
                break
            job = self._line.next()
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
        job.size = passes.size(Asked(job.key, job.request))
        job.passed_over = 0

    def _pass(self, passes: Passes, pending: list[Job], *, of_draft: bool) -> None:
        chosen = select(pending, self._times, passes.most)
        asked = [Asked(job.key, job.request) for job in chosen if job.request is not None]
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
