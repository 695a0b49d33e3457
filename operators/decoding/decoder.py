"""Runs a decoding method to its result. Here: one method after the other, each in its own session."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import NamedTuple, Protocol

from operators.decoding.drive import Cost, drive
from operators.decoding.forward import Decoded, Method, Session
from operators.trouble import ModelTrouble


class Decode(NamedTuple):
    """A method to run."""

    #: Names the session whose cache fits the method, as far as is known.
    key: str
    method: Method
    #: True for the last update of a segment.
    is_final: bool = False


class Decoder(Protocol):
    """Runs methods. Losing the cache of a key costs time but never changes a result."""

    def decode(self, asked: Decode) -> tuple[Decoded, Cost]:
        """Return the method's result and its cost. Raises `ModelTrouble` if the model fails."""
        ...

    def release(self, key: str) -> None:
        """Free what ``key`` holds; unknown keys are allowed."""
        ...


class Sessions(Protocol):
    """Provides sessions: one per key, possibly a new one each time."""

    def session(self, key: str) -> AbstractContextManager[Session]:
        """Lend the session of ``key``."""
        ...

    def release(self, key: str) -> None:
        """Free what ``key`` holds."""
        ...


class OneAtATime:
    """A `Decoder` that runs each method to its end before the next one."""

    def __init__(self, sessions: Sessions, drafts: Sessions | None = None) -> None:
        """``drafts`` are the sessions of a draft model, if the methods use one."""
        self._sessions = sessions
        self._drafts = drafts

    def decode(self, asked: Decode) -> tuple[Decoded, Cost]:
        """Return the method's result and its cost. Raises `ModelTrouble` if the model fails."""
        with self._sessions.session(asked.key) as session, self._draft_session(asked.key) as draft:
            return drive(asked.method, session, draft)

    def release(self, key: str) -> None:
        """Free the sessions of ``key``."""
        self._sessions.release(key)
        if self._drafts is not None:
            self._drafts.release(key)

    @contextmanager
    def _draft_session(self, key: str) -> Iterator[Session | None]:
        """The session of the draft model.

        None if there is no draft model or it fails; no update is lost by that.
        """
        with ExitStack() as stack:
            draft = None
            if self._drafts is not None:
                with suppress(ModelTrouble):
                    draft = stack.enter_context(self._drafts.session(key))
            yield draft
