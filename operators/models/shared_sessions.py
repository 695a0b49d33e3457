"""Answers several sessions of one model together: requests of several segments in one pass."""

from collections.abc import Iterator, Sequence

import numpy as np

from operators.decoding.forward import BeamForward, Forward
from operators.decoding.session import Evaluation
from operators.models.pool import OpenSession, SessionPool
from operators.models.store import Part, SharedStore
from operators.serving.scheduler import PassAnswer, PassRequest
from operators.trouble import ModelTrouble, NoRoom


class SharedSessions:
    """The `Passes` of a model; for use by one thread.

    Sessions are answered one after the other without a ``store`` that shares passes, and requests larger than
    a pass in any case.
    """

    def __init__(self, store: SharedStore | None, sessions: SessionPool) -> None:
        self._store = store
        self._sessions = sessions
        #: Maximum number of sessions.
        self.most = sessions.most

    def size(self, asked: PassRequest) -> int:
        """Number of tokens that a pass must evaluate to answer this request."""
        return self._sessions.size(asked.key, asked.request)

    def answer(self, asked: Sequence[PassRequest]) -> Iterator[PassAnswer]:
        """Answer requests of different keys in order, in one pass if possible."""
        try:
            self._sessions.refresh()
        except ModelTrouble as trouble:
            yield from (PassAnswer(trouble) for _ in asked)
            return
        together = self._together(asked)
        yield from together if together is not None else map(self._alone, asked)

    def succeed(self) -> None:
        """Record that an answer was used completely."""
        self._sessions.succeed()

    def fail(self, key: str) -> None:
        """Drop what ``key`` holds."""
        self._sessions.fail(key)

    def release(self, key: str) -> None:
        """Free what ``key`` holds; unknown keys are allowed."""
        self._sessions.release(key)

    def _alone(self, asked: PassRequest) -> PassAnswer:
        try:
            session = self._sessions.open(asked.key, asked.request.tokens).session
            if isinstance(asked.request, BeamForward):
                logits = session.forward_beams(asked.request)
            else:
                logits = session.forward(asked.request)
        except ModelTrouble as trouble:
            return PassAnswer(trouble)
        return PassAnswer(logits, session.reused, session.kept)

    def _together(self, asked: Sequence[PassRequest]) -> list[PassAnswer] | None:
        """All answers from one pass; None if each request must be answered alone."""
        store = self._store
        if store is None or len(asked) == 1:
            return None
        widths = (len(one.request.paths) for one in asked if isinstance(one.request, BeamForward))
        if max(widths, default=0) > self._sessions.beams:
            return None
        opened = [self._sessions.open(one.key, one.request.tokens) for one in asked]
        keeps = self._keeps(asked, opened)
        sizes = (
            one.session.size(request.request, keeps=keeps) for one, request in zip(opened, asked, strict=True)
        )
        if sum(sizes) > store.largest_pass:
            return None
        try:
            while True:
                try:
                    return _pass(store, asked, opened, keeps=keeps)
                except NoRoom:
                    if not self._sessions.drop_oldest({one.key for one in asked}):
                        return None
                    # What waited to be kept is lost.
                    keeps = False
        except ModelTrouble:
            # One request may be the cause, and the others must not fail because of it.
            return None

    def _keeps(self, asked: Sequence[PassRequest], opened: Sequence[OpenSession]) -> bool:
        """Whether tokens of outputs are kept: the pass before and the turning of keys are paid for once."""
        least = self._sessions.least_kept
        movable = (one.session.movable(request.request) for one, request in zip(opened, asked, strict=True))
        return least is not None and sum(movable) >= least


def _pass(
    store: SharedStore, asked: Sequence[PassRequest], opened: Sequence[OpenSession], *, keeps: bool
) -> list[PassAnswer]:
    """All answers; raises `ModelTrouble` for all if the model fails."""
    firsts = [
        Part(one.sequence.number, _begin(one, request.request, keeps=keeps))
        for one, request in zip(opened, asked, strict=True)
    ]
    # Sources that have grown before tokens that are kept: these wait for a pass of their own.
    if leads := [one for one in firsts if one.evaluation.tokens and not one.evaluation.rows]:
        store.evaluate_parts(leads)
    parts = [
        _rest(one, first, request.request) for one, first, request in zip(opened, firsts, asked, strict=True)
    ]
    made = iter(store.evaluate_parts([part for several in parts for part in several]))
    answers = [[next(made) for _ in several] for several in parts]
    for one, request in zip(opened, asked, strict=True):
        one.session.end(request.request)
    return [
        PassAnswer(rows[0] if len(rows) == 1 else np.concatenate(rows), one.session.reused, one.session.kept)
        for rows, one in zip(answers, opened, strict=True)
    ]


def _begin(one: OpenSession, request: Forward | BeamForward, *, keeps: bool) -> Evaluation:
    if isinstance(request, BeamForward):
        return one.session.begin_beams(request)
    return one.session.begin(request, keeps=keeps)


def _rest(one: OpenSession, first: Part, request: Forward | BeamForward) -> list[Part]:
    """The parts of the pass that answers a request, after what had to be evaluated before."""
    if isinstance(request, BeamForward):
        assert one.beams is not None, "only a session with beams is asked for them"
        return one.beams.place(len(request.tokens), request.paths)
    rest = one.session.proceed()
    return [first if rest is None else Part(first.sequence, rest)]
