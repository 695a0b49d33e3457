"""One browser that follows one stream, and the stream as its clients see it."""

import asyncio
from collections.abc import Callable
from threading import Lock

from connectors.web.protocol import StreamLog


class Followed:
    """A stream and who follows it."""

    def __init__(self, log: StreamLog) -> None:
        self.log = log
        self.clients: set[Client] = set()
        #: Whether anything was published, and not only asked for.
        self.is_real = False
        #: Whether clients go as soon as they have everything.
        self.is_closed = False


class Client:
    """A position in a stream's journal, in the thread of the server's loop.

    It has no queue: a slow client costs no memory, and is cut when its position is no longer remembered.
    """

    def __init__(self, stream: Followed, last_id: str | None, abort: Callable[[], None]) -> None:
        """``abort`` drops the connection without waiting for anything; call with the hub's lock held."""
        self._stream = stream
        self._position, self._first = stream.log.arrival(last_id)
        self._wake = asyncio.Event()
        self._is_cut = False
        self._is_reminded = False
        self.abort = abort
        #: Since when something is on its way to it, on the hub's clock; None while nothing is.
        self.sending_since_s: float | None = None

    def wake(self) -> None:
        """Let it look whether there is something new."""
        self._wake.set()

    def cut(self) -> None:
        """Give it nothing more."""
        self._is_cut = True
        self._wake.set()

    def remind(self) -> None:
        """Tell it how things stand, so that it knows that the connection does."""
        self._is_reminded = True
        self._wake.set()

    async def next(self, lock: Lock) -> bytes:
        """What is to be sent next, as soon as there is anything; empty when that was all.

        ``lock`` is the hub's.
        """
        while not self._is_cut:
            self._wake.clear()
            first, self._first = self._first, b""
            with lock:
                log = self._stream.log
                events = log.after(self._position)
                self._position = log.position
                is_closed = self._stream.is_closed
                # After all that is missing: its id says that nothing is.
                standing = log.standing() if self._is_reminded else b""
            self._is_reminded = False
            if events is None:
                break
            if first or events or standing:
                return first + events + standing
            if is_closed:
                break
            await self._wake.wait()
        return b""
