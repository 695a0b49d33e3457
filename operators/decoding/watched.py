"""Sessions that report each request and its answer, and otherwise behave as before."""

from collections.abc import Callable
from time import perf_counter
from typing import Generic, NamedTuple, TypeVar

from operators.decoding.forward import Forward, Logits, Session, TreeForward, TreeSession


class Took(NamedTuple):
    """What an answer took."""

    #: Tokens evaluated for it, and tokens found in the cache.
    evaluated: int
    reused: int
    #: Of these, tokens behind the source that were kept although it has changed.
    kept: int
    seconds: float


#: Receives a request, its answer, and what it took.
See = Callable[[Forward | TreeForward, Logits, Took], None]

_Request = TypeVar("_Request", Forward, TreeForward)
_Session = TypeVar("_Session", bound=Session)


def watched(session: Session, see: See) -> Session:
    """``session``, with each request and answer passed to ``see`` before anyone else gets the answer."""
    return _WatchedTree(session, see) if isinstance(session, TreeSession) else _Watched(session, see)


class _Watched(Generic[_Session]):
    """A session that is observed."""

    def __init__(self, session: _Session, see: See) -> None:
        self._session = session
        self._see = see
        self.reused = self.kept = 0

    def forward(self, request: Forward) -> Logits:
        """Answer the request as the session does."""
        return self._watch(self._session.forward, request)

    def _watch(self, answer: Callable[[_Request], Logits], request: _Request) -> Logits:
        began = perf_counter()
        logits = answer(request)
        model_s = perf_counter() - began
        self.reused, self.kept = self._session.reused, self._session.kept
        # Before the method gets them: it may overwrite them.
        evaluated = request.logits_from + len(logits) - self.reused
        self._see(request, logits, Took(evaluated, self.reused, self.kept, model_s))
        return logits


class _WatchedTree(_Watched[TreeSession]):
    """The same for a session that supports trees."""

    def forward_tree(self, request: TreeForward) -> Logits:
        """Answer the request as the session does."""
        return self._watch(self._session.forward_tree, request)
