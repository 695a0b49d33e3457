"""A running decoding method: its current request, and the cost of its passes so far."""

from collections.abc import Callable

from operators.decoding.decoder import Decode
from operators.decoding.drive import Cost, trunk
from operators.decoding.forward import NO_ROWS, AskDraftModel, BeamForward, Decoded, Forward, Logits, Request
from operators.trouble import ModelTrouble


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
        self._counts = {True: _Count(), False: _Count()}

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
        model, draft = self._counts[False], self._counts[True]
        return self._decoded, Cost(
            passes=model.passes,
            reused=model.reused,
            kept=model.kept,
            evaluated=model.evaluated,
            model_s=model.seconds,
            first_s=model.first_s,
            draft_passes=draft.passes,
            draft_evaluated=draft.evaluated,
            draft_s=draft.seconds,
        )

    def begin(self) -> None:
        """Run the method up to its first request."""
        self._run(lambda: next(self._method))

    def answer(self, logits: Logits, reused: int, kept: int = 0) -> int:
        """Resume the method with the answer to its request; return the number of tokens evaluated for it."""
        assert self.request is not None, "only a request is answered"
        evaluated = max(0, self.request.logits_from + len(logits) - reused)
        self._counts[self.is_of_draft].add(evaluated, reused, kept)
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
        self._counts[of_draft].took(seconds)

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


class _Count:
    """The cost of the passes of one model."""

    def __init__(self) -> None:
        self.passes = self.reused = self.kept = self.evaluated = 0
        self.seconds = self.first_s = 0.0

    def add(self, evaluated: int, reused: int, kept: int) -> None:
        if self.passes == 0:
            self.reused, self.kept = reused, kept
        self.passes += 1
        self.evaluated += evaluated

    def took(self, seconds: float) -> None:
        if self.passes == 1:
            self.first_s = seconds
        self.seconds += seconds
