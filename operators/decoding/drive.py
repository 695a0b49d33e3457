"""Runs a method: answers its requests from sessions and counts the cost."""

from time import perf_counter
from typing import NamedTuple

from operators.decoding.forward import (
    NO_ROWS,
    AskDraftModel,
    BeamForward,
    BeamSession,
    Decoded,
    Forward,
    Logits,
    Method,
    ModelRequest,
    Session,
    TreeForward,
    TreeSession,
)
from operators.trouble import ModelTrouble


class Cost(NamedTuple):
    """The cost of driving a method; only the last three fields concern the draft model's passes."""

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


class CostMeter:
    """Adds up the cost of the passes of one model for one method."""

    def __init__(self) -> None:
        self._passes = self._reused = self._kept = self._evaluated = 0
        self._seconds = self._first_s = 0.0

    def add(self, evaluated: int, reused: int, kept: int) -> None:
        """Count a pass."""
        if self._passes == 0:
            self._reused, self._kept = reused, kept
        self._passes += 1
        self._evaluated += evaluated

    def took(self, seconds: float) -> None:
        """Add the time of the pass that was counted last."""
        if self._passes == 1:
            self._first_s = seconds
        self._seconds += seconds

    def with_draft(self, draft: "CostMeter") -> Cost:
        """The cost of a method, of which the draft model's passes have a meter of their own."""
        return Cost(
            self._passes, self._reused, self._kept, self._evaluated, self._seconds, self._first_s,
            draft._passes, draft._evaluated, draft._seconds,
        )  # fmt: skip


def drive(method: Method, session: Session, draft: Session | None = None) -> tuple[Decoded, Cost]:
    """Answer the method's requests from one session until it returns.

    Requests to a draft model are answered from ``draft``.
    """
    model, second = _Asked(session), _Asked(draft)
    try:
        request = next(method)
        while True:
            if isinstance(request, AskDraftModel):
                logits = second.try_answer(request.request)
            else:
                logits = model.answer(request)
            request = method.send(logits)
    except StopIteration as end:
        decoded: Decoded = end.value
        return decoded, model.meter.with_draft(second.meter)


class _Asked:
    """One model's session, and the cost of its passes."""

    def __init__(self, session: Session | None) -> None:
        self._session = session
        self.meter = CostMeter()

    def answer(self, request: ModelRequest) -> Logits:
        """Answer from the session; if the session does not support trees, only the trunk."""
        if self._session is None:
            return NO_ROWS
        began = perf_counter()
        if isinstance(request, Forward):
            logits = self._session.forward(request)
        elif isinstance(request, BeamForward):
            if not isinstance(self._session, BeamSession):
                return NO_ROWS
            logits = self._session.forward_beams(request)
            if not len(logits):
                return NO_ROWS
        elif isinstance(self._session, TreeSession):
            logits = self._session.forward_tree(request)
        elif (chain := trunk(request)) is not None:
            logits = self._session.forward(chain)
        else:
            return NO_ROWS
        # The rows end with the last evaluated token.
        evaluated = max(0, request.logits_from + len(logits) - self._session.reused)
        self.meter.add(evaluated, self._session.reused, self._session.kept)
        self.meter.took(perf_counter() - began)
        return logits

    def try_answer(self, request: Forward | TreeForward) -> Logits:
        """Like `answer`, but returns no rows if the pass fails."""
        try:
            return self.answer(request)
        except ModelTrouble:
            return NO_ROWS


def trunk(request: Forward | TreeForward) -> Forward | None:
    """The request without the branches of its tree; None if that leaves nothing to answer."""
    if isinstance(request, Forward):
        return request
    tokens = [*request.tokens, *request.tree.tokens[: request.tree.trunk]]
    if request.logits_from >= len(tokens):
        return None
    return Forward(tokens, request.logits_from, request.output_from, request.kept)
