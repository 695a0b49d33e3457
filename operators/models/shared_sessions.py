"""Sessions of one model that are answered together: the requests of several segments in one pass."""

from collections.abc import Iterator, Sequence

from operators.models.open_sessions import OpenSession, OpenSessions
from operators.models.store import Part, SharedStore
from operators.serving.passes import Answered, Asked
from operators.trouble import ModelTrouble, NoRoom


class SharedSessions:
    """The `Passes` of a model; for one thread.

    A recurrent memory is asked for one session after the other, as each splits its passes where states are
    to be kept; so is a request that is larger than a pass.
    """

    def __init__(self, store: SharedStore, sessions: OpenSessions) -> None:
        self._store = store
        self._sessions = sessions
        #: Sessions that there is room for.
        self.most = sessions.most

    def size(self, asked: Asked) -> int:
        """Tokens that a pass has to evaluate to answer this."""
        return self._sessions.size(asked.key, asked.request)

    def answer(self, asked: Sequence[Asked]) -> Iterator[Answered]:
        """Answer requests of different keys, in their order, in one pass where that is possible."""
        try:
            self._sessions.refresh()
        except ModelTrouble as trouble:
            yield from (Answered(trouble) for _ in asked)
            return
        together = self._together(asked)
        yield from together if together is not None else map(self._alone, asked)
        self._sessions.count()

    def succeed(self) -> None:
        """Take note that an answer could be used to its end."""
        self._sessions.succeed()

    def fail(self, key: str) -> None:
        """Drop what ``key`` holds."""
        self._sessions.fail(key)

    def release(self, key: str) -> None:
        """Free what ``key`` holds; unknown keys are welcome."""
        self._sessions.release(key)
        self._sessions.count()

    def _alone(self, asked: Asked) -> Answered:
        try:
            session = self._sessions.open(asked.key).session
            logits = session.forward(asked.request)
        except ModelTrouble as trouble:
            return Answered(trouble)
        return Answered(logits, session.reused)

    def _together(self, asked: Sequence[Asked]) -> list[Answered] | None:
        """All answers from one pass; None where each has to be asked for alone."""
        tokens = sum(map(self.size, asked))
        if len(asked) == 1 or tokens > self._store.largest_pass or self._sessions.is_recurrent:
            return None
        opened = [self._sessions.open(one.key) for one in asked]
        try:
            try:
                return self._pass(asked, opened)
            except NoRoom:
                self._sessions.keep_only({one.key for one in asked})
                return self._pass(asked, opened)
        except ModelTrouble:
            # One of them may be the reason, and the others shall not suffer for it.
            return None

    def _pass(self, asked: Sequence[Asked], opened: Sequence[OpenSession]) -> list[Answered]:
        parts = [
            Part(one.sequence.number, one.session.begin(request.request))
            for one, request in zip(opened, asked, strict=True)
        ]
        made = self._store.evaluate_parts(parts)
        for one, request in zip(opened, asked, strict=True):
            one.session.end(request.request)
        return [Answered(logits, part.evaluation.start) for logits, part in zip(made, parts, strict=True)]
