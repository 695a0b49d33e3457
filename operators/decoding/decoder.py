"""Who runs a method until it has decoded. Here: one method after the other, each in a session of its own."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import NamedTuple, Protocol

from operators.decoding.drive import Cost, drive
from operators.decoding.forward import Decoded, Method, Session
from operators.trouble import ModelTrouble


class Decode(NamedTuple):
    """A method that is to be run."""

    #: Names the session that holds what the method was last seen to hold.
    key: str
    method: Method
    #: True for the last update of a segment.
    is_final: bool = False


class Decoder(Protocol):
    """Runs methods; losing what it holds under a key costs time, never a result."""

    def decode(self, asked: Decode) -> tuple[Decoded, Cost]:
        """What the method returns, and what it took. Raises `ModelTrouble` where the model cannot."""
        ...

    def release(self, key: str) -> None:
        """Free what ``key`` holds; unknown keys are welcome."""
        ...


class Sessions(Protocol):
    """Where sessions come from: one per key, possibly a new one each time."""

    def session(self, key: str) -> AbstractContextManager[Session]:
        """Lend the session of ``key``."""
        ...

    def release(self, key: str) -> None:
        """Free what ``key`` holds."""
        ...


class OneAtATime:
    """A `Decoder` that runs each method to its end before another one."""

    def __init__(self, sessions: Sessions, drafts: Sessions | None = None) -> None:
        """``drafts`` are the sessions of a second model, where the methods ask one."""
        self._sessions = sessions
        self._drafts = drafts

    def decode(self, asked: Decode) -> tuple[Decoded, Cost]:
        """What the method returns, and what it took. Raises `ModelTrouble` where the model cannot."""
        with self._sessions.session(asked.key) as session, self._draft_session(asked.key) as draft:
            return drive(asked.method, session, draft)

    def release(self, key: str) -> None:
        """Free the sessions of ``key``."""
        self._sessions.release(key)
        if self._drafts is not None:
            self._drafts.release(key)

    @contextmanager
    def _draft_session(self, key: str) -> Iterator[Session | None]:
        """The session of the second model.

        None where there is none, or where it fails: that loses no update.
        """
        with ExitStack() as stack:
            draft = None
            if self._drafts is not None:
                with suppress(ModelTrouble):
                    draft = stack.enter_context(self._drafts.session(key))
            yield draft
