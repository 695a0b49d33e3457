"""A browser that follows a stream, and the stream as its clients see it."""

import asyncio
from collections.abc import Callable
from threading import Lock

from connectors.web.protocol import StreamLog


class Followed:
    """A stream and its followers."""

    def __init__(self, log: StreamLog) -> None:
        self.log = log
        self.clients: set[Client] = set()
        #: Whether anything was published, as opposed to only requested.
        self.is_real = False
        #: Whether clients disconnect as soon as they have everything.
        self.is_closed = False
        #: What viewers must know to follow it; None for a stream that all viewers may follow.
        self.secret: str | None = None


class Client:
    """A position in a stream's journal; used on the thread of the server's loop.

    It has no queue: a slow client costs no memory, and is disconnected when its position is no longer in the
    journal.
    """

    def __init__(self, stream: Followed, last_id: str | None, abort: Callable[[], None]) -> None:
        """``abort`` drops the connection immediately; call with the hub's lock held."""
        self._stream = stream
        self._position, self._first = stream.log.arrival(last_id)
        self._wake = asyncio.Event()
        self._is_cut = False
        self._is_reminded = False
        self.abort = abort
        #: Since when something is being sent to it, on the hub's clock; None while nothing is.
        self.sending_since_s: float | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the stream is over and the client was given everything."""
        log = self._stream.log
        return log.is_over and self._position == log.position

    def wake(self) -> None:
        """Make it check for news."""
        self._wake.set()

    def cut(self) -> None:
        """Send it nothing more."""
        self._is_cut = True
        self._wake.set()

    def remind(self) -> None:
        """Send it the present state, so that it knows that the connection works."""
        self._is_reminded = True
        self._wake.set()

    async def next(self, lock: Lock) -> bytes:
        """The next data to send, as soon as there is any; empty at the end.

        ``lock`` is the hub's lock.
        """
        while not self._is_cut:
            self._wake.clear()
            first, self._first = self._first, b""
            with lock:
                log = self._stream.log
                events = log.after(self._position)
                self._position = log.position
                is_closed = self._stream.is_closed
                # After everything that it missed: the id says that nothing is missing.
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
