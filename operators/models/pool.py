"""A bounded pool of decoding sessions: which segments may keep their KV cache."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

from operators.decoding.session import PrefixSession
from operators.decoding.tree_session import BranchingSession
from operators.models.open_sessions import HEAD, OpenSessions, Usage
from operators.models.recurrent import RecurrentMemory
from operators.models.store import SequenceStore


class SessionPool:
    """Lends the sessions of one model (`OpenSessions`).

    Workers of one process share one pool. A session is lent to one worker at a time, because logits are views
    of a buffer that the next pass overwrites.
    """

    HEAD = HEAD

    def __init__(
        self,
        store: SequenceStore,
        head: Sequence[int],
        size: int,
        memory: RecurrentMemory | None = None,
        *,
        branches: int = 0,
        further: Sequence[Sequence[int]] = (),
        least_kept: int | None = None,
    ) -> None:
        """Evaluate the heads once; takes the arguments of `OpenSessions` and raises the same errors."""
        #: For an owner that has exclusive use of all sessions and lends none, such as a scheduler's thread.
        self.sessions = OpenSessions(
            store, head, size, memory, branches=branches, further=further, least_kept=least_kept
        )
        self._lock = Lock()

    @property
    def usage(self) -> Usage:
        """Usage when a session was last returned; it can be read on any thread."""
        return self.sessions.usage

    @contextmanager
    def session(self, key: str) -> Iterator[PrefixSession]:
        """Lend the session of ``key``, created if it is not in the pool."""
        with self._lock:
            self.sessions.refresh()
            session = self.sessions.open(key).session
            try:
                yield session
            except BaseException:
                self.sessions.fail(key)
                raise
            else:
                self.sessions.succeed()
                if isinstance(session, BranchingSession):
                    session.settle()
            finally:
                self.sessions.count()

    def release(self, key: str) -> None:
        """Free what ``key`` holds; unknown keys are allowed."""
        with self._lock:
            self.sessions.release(key)
            self.sessions.count()
