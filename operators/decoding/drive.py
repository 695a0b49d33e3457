"""Runs methods: answers their requests from sessions and counts the cost."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple, Protocol

from operators.decoding.forward import (
    NO_ROWS,
    AskDraftModel,
    BeamForward,
    BeamSession,
    DecodingResult,
    Forward,
    Logits,
    Method,
    ModelRequest,
    Request,
    Session,
    TreeForward,
    TreeSession,
)
from operators.model_errors import ModelError


@dataclass
class Cost:
    """The cost of running a method; only the last three fields concern the draft model's passes."""

    passes: int = 0
    #: Tokens of the first request that were in the cache.
    reused: int = 0
    #: Of these, tokens of the output that were kept although the prompt has changed.
    kept: int = 0
    #: Tokens evaluated by all passes together.
    evaluated: int = 0
    #: Seconds in forward passes, and in the first one.
    model_s: float = 0.0
    first_s: float = 0.0
    #: Passes of the draft model, tokens that they evaluated, and their seconds.
    draft_passes: int = 0
    draft_evaluated: int = 0
    draft_s: float = 0.0

    def add(self, evaluated: int, reused: int, kept: int, *, of_draft: bool) -> None:
        if of_draft:
            self.draft_passes += 1
            self.draft_evaluated += evaluated
            return
        if self.passes == 0:
            self.reused, self.kept = reused, kept
        self.passes += 1
        self.evaluated += evaluated

    def took(self, seconds: float, *, of_draft: bool) -> None:
        """Add the time of the pass that was counted last."""
        if of_draft:
            self.draft_s += seconds
            return
        if not self.model_s:
            self.first_s = seconds
        self.model_s += seconds


class DecodeRequest(NamedTuple):
    #: Key of the session whose cache fits the method best.
    key: str
    method: Method
    #: True for the last update of a segment.
    is_final: bool = False


class Job:
    """A method that is run step by step: each of its requests is answered, or fails."""

    def __init__(self, decode: DecodeRequest, passable: Callable[[Request], ModelRequest | None]) -> None:
        """Run it up to its first request.

        ``passable`` converts a request to one that a pass can answer, or to None if it gets no rows.
        """
        self.key = decode.key
        self.is_final = decode.is_final
        self._method = decode.method
        self._passable = passable
        #: The pending request; None when the job has ended.
        self.request: ModelRequest | None = None
        #: Whether the request is for the draft model.
        self.is_of_draft = False
        self.cost = Cost()
        self._decoded: DecodingResult | None = None
        #: The error that ended it, if any. Any error other than `ModelError` is a defect.
        self.error: Exception | None = None
        self._run(lambda: next(self._method))

    @property
    def result(self) -> tuple[DecodingResult, Cost]:
        """The method's result and its cost, when it has ended. Raises the error that it ended with."""
        if self.error is not None:
            raise self.error
        assert self._decoded is not None, "a job that has not ended has no result"
        return self._decoded, self.cost

    def answer(self, logits: Logits, reused: int, kept: int) -> int:
        """Continue with the answer to the request; return the number of tokens that were evaluated for it."""
        assert self.request is not None, "only a request is answered"
        # The rows end with the last evaluated token.
        evaluated = max(0, self.request.logits_from + len(logits) - reused)
        if len(logits) or not isinstance(self.request, BeamForward):
            self.cost.add(evaluated, reused, kept, of_draft=self.is_of_draft)
        self._run(lambda: self._method.send(logits))
        return evaluated

    def fail(self, error: Exception) -> None:
        """Continue without a draft if the draft model could not answer, or else end with the error."""
        if self.is_of_draft:
            self._run(lambda: self._method.send(NO_ROWS))
        else:
            self._end(error)

    def _end(self, error: Exception) -> None:
        self.request, self.error = None, error
        self._method.close()

    def _run(self, step: Callable[[], Request]) -> None:
        self.request = None
        try:
            while self.request is None:
                request = step()
                self.is_of_draft = isinstance(request, AskDraftModel)
                self.request = self._passable(request)
                step = self._without_rows
        except StopIteration as end:
            self._decoded = end.value
        except Exception as error:  # noqa: BLE001 - it belongs to this job alone
            self._end(error)

    def _without_rows(self) -> Request:
        return self._method.send(NO_ROWS)


def drive(method: Method, session: Session, draft: Session | None = None) -> tuple[DecodingResult, Cost]:
    """Answer the method's requests from one session until it returns.

    Requests to a draft model are answered from ``draft``. Raises `ModelError` if the model fails.
    """

    def passable(request: Request) -> ModelRequest | None:
        if isinstance(request, AskDraftModel):
            return None if draft is None else _as_answered(request.request, draft)
        return _as_answered(request, session)

    job = Job(DecodeRequest("", method), passable)
    while job.request is not None:
        is_of_draft = job.is_of_draft
        asked = draft if is_of_draft and draft is not None else session
        began_s = perf_counter()
        try:
            logits = _evaluated(asked, job.request)
        except ModelError as error:
            job.fail(error)
            continue
        seconds = perf_counter() - began_s
        job.answer(logits, asked.reused, asked.kept)
        job.cost.took(seconds, of_draft=is_of_draft)
    return job.result


def _as_answered(request: ModelRequest, session: Session) -> ModelRequest | None:
    if isinstance(request, BeamForward):
        return request if isinstance(session, BeamSession) else None
    return request if isinstance(session, TreeSession) else trunk(request)


def _evaluated(session: Session, request: ModelRequest) -> Logits:
    if isinstance(request, BeamForward) and isinstance(session, BeamSession):
        return session.forward_beams(request)
    if isinstance(request, TreeForward) and isinstance(session, TreeSession):
        return session.forward_tree(request)
    assert isinstance(request, Forward), "only a request that the session can answer is passed"
    return session.forward(request)


def trunk(request: Forward | TreeForward) -> Forward | None:
    """The request without the branches of its tree; None if that leaves nothing to answer."""
    if isinstance(request, Forward):
        return request
    tokens = [*request.tokens, *request.tree.tokens[: request.tree.trunk]]
    if request.logits_from >= len(tokens):
        return None
    return Forward(tokens, request.logits_from, request.output_from, request.kept)


class Decoder(Protocol):
    """Runs methods. Losing the cache of a key costs time but never changes a result."""

    def decode(self, decode: DecodeRequest) -> tuple[DecodingResult, Cost]:
        """Return the method's result and its cost. Raises `ModelError` if the model fails."""
        ...

    def release(self, key: str) -> None:
        """Free what ``key`` holds; unknown keys are allowed."""
        ...


class Sessions(Protocol):
    """Provides sessions: one per key, possibly a new one each time."""

    def session(self, key: str) -> AbstractContextManager[Session]:
        """Lend the session of ``key``."""
        ...

    def release(self, key: str) -> None: ...


class SequentialDecoder:
    """A `Decoder` that runs each method to its end before the next one."""

    def __init__(self, sessions: Sessions, drafts: Sessions | None = None) -> None:
        """``drafts`` are the sessions of a draft model, if the methods use one."""
        self._sessions = sessions
        self._drafts = drafts

    def decode(self, decode: DecodeRequest) -> tuple[DecodingResult, Cost]:
        with ExitStack() as stack:
            session, draft = stack.enter_context(self._sessions.session(decode.key)), None
            if self._drafts is not None:
                # If the draft model fails, the update is decoded without it.
                with suppress(ModelError):
                    draft = stack.enter_context(self._drafts.session(decode.key))
            return drive(decode.method, session, draft)

    def release(self, key: str) -> None:
        self._sessions.release(key)
        if self._drafts is not None:
            self._drafts.release(key)
