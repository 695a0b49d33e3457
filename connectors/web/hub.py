"""Connects the flow to all browsers: one thread publishes captions, another thread's loop sends them."""

import asyncio
import contextlib
import hmac
from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import Lock
from time import monotonic
from typing import NamedTuple

from connectors.view import Status
from connectors.web.messages import Languages, figures_after, state_of
from connectors.web.protocol import Bounds
from connectors.web.streams import MAX_CLIENTS, MAX_STREAMS, Client, Followed, ListedStream, Streams
from operators.events import Caption, ErasureRecord

# Seconds between two checks of waiting messages.
_TICK_S = 0.1


class ClientTimeouts(NamedTuple):
    """How long the hub waits for clients, in seconds."""

    #: Interval at which a client is sent the present state.
    heartbeat_s: float = 10.0
    #: How long a client may take to accept data before it is dropped.
    stall_s: float = 20.0
    #: The same when the server shuts down.
    shutdown_timeout_s: float = 2.0


class Full(Exception):  # noqa: N818 - it is no error of anybody's
    """The maximum number of clients is reached."""


class Hub:
    """Takes messages from the flow on any thread and passes them to clients in one loop.

    The methods for the flow never wait for a client and never raise.
    """

    def __init__(
        self,
        languages: Sequence[Languages],
        streams: Iterable[str] = (),
        *,
        max_clients: int = MAX_CLIENTS,
        max_streams: int = MAX_STREAMS,
        is_private: bool = False,
        bounds: Bounds | None = None,
        patience: ClientTimeouts | None = None,
    ) -> None:
        """Prepare the streams.

        Args:
            languages: Those of a stream, one for each language of captions, unless it is opened with others.
            max_streams: Maximum number of remembered streams.
            is_private: Streams are neither listed nor waited for; each is followed with the secret that it
                was opened with.
            bounds: How much of a stream is remembered.
            patience: How long to wait for clients.
        """
        self._is_private = is_private
        self._max_clients = max_clients
        self._timeouts = patience or ClientTimeouts()
        #: Held while a message is made, never while one is sent.
        self.lock = Lock()
        self._streams = Streams(languages, "listening", bounds, max_streams)
        self._news: set[Followed] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed_s = float("inf")
        #: Number of clients.
        self.clients = 0
        for name in streams:
            self._publishing(name)

    # Methods for the flow, on any thread.

    def caption(self, caption: Caption) -> None:
        """Publish a caption."""
        with self.lock:
            stream = self._publishing(caption.stream)
            stream.caption(caption)
            self._announce(stream)

    def record(self, record: ErasureRecord, lost_s: float = 0.0) -> None:
        """Publish the figures of a caption, and the total seconds of lost audio."""
        with self.lock:
            stream = self._publishing(record.stream)
            log = stream.log_of(record.language)
            log.tell_figures(figures_after(log.figures, record, lost_s), monotonic())
            self._announce(stream)

    def status(self, status: Status, sentence: str | None = None) -> None:
        """Publish the run's status to all streams."""
        with self.lock:
            for stream in self._streams.published():
                for log in stream.logs.values():
                    log.tell_state(state_of(status, sentence), monotonic())
                self._announce(stream)

    def end(self, name: str | None = None) -> None:
        """Publish the end of a stream; by default, of all streams."""
        with self.lock:
            named = None if name is None else self._streams.known(name)
            for stream in self._streams.published() if name is None else [named] if named else []:
                for log in stream.logs.values():
                    log.end()
                self._announce(stream)

    def close(self) -> None:
        """Release clients, each as soon as it has everything."""
        with self.lock:
            self._closed_s = monotonic()
            for stream in self._streams:
                stream.is_closed = True
                self._announce(stream)

    def open(self, name: str, languages: Sequence[Languages], secret: str) -> None:
        """Create a stream with its own languages of captions, which is followed with a secret."""
        with self.lock:
            self._close(self._streams.open(name, languages, secret))

    def listed(self) -> list[ListedStream]:
        """The existing streams; none if they are private."""
        with self.lock:
            return [] if self._is_private else self._streams.listed()

    def followed(self, name: str, secret: str) -> str | None:
        """The name of the stream that a client with this address may follow; None if it may not.

        A stream that all may follow need not exist. A private one that is opened again has another name, and
        the link of the earlier one leads to it.
        """
        if not self._is_private:
            return name
        with self.lock:
            stream = self._streams.known(name)
            if stream is not None and stream.secret is not None:
                return name if _is_same(secret, stream.secret) else None
            return self._streams.opened_with(lambda wanted: _is_same(secret, wanted))

    # Methods for the server, on the thread of its loop.

    @contextlib.contextmanager
    def join(
        self,
        name: str,
        last_id: str | None,
        abort: Callable[[], None] = lambda: None,
        languages: str = "",
    ) -> Iterator[Client]:
        """Add a client to a stream; an unknown stream is waited for. ``languages`` are those it prefers.

        Raises:
            Full: when there are too many clients.
        """
        if self.clients >= self._max_clients:
            raise Full
        with self.lock:
            stream = self._streams.requested(name)
            client = Client(stream, last_id, abort, languages)
            stream.clients.add(client)
            stream.is_closed = stream.is_closed or self._closed_s < float("inf")
        self.clients += 1
        try:
            yield client
        finally:
            self.clients -= 1
            with self.lock:
                stream.clients.discard(client)
                self._streams.forget_unused(name)

    @contextlib.contextmanager
    def sending(self, client: Client) -> Iterator[None]:
        """Mark that data is being sent to a client."""
        client.sending_since_s = monotonic()
        try:
            yield
        finally:
            client.sending_since_s = None

    async def tend(self) -> None:
        """Send messages that are due, send reminders, and drop clients that accept no data."""
        self._loop = asyncio.get_running_loop()
        reminded_s = monotonic()
        try:
            while True:
                await asyncio.sleep(_TICK_S)
                now_s = monotonic()
                reminds = now_s - reminded_s >= self._timeouts.heartbeat_s
                reminded_s = now_s if reminds else reminded_s
                with self.lock:
                    streams = list(self._streams)
                    for stream in streams:
                        if sum(log.tick(now_s) for log in stream.logs.values()):
                            self._announce(stream)
                        if reminds:
                            for client in stream.clients:
                                client.remind()
                    clients = [client for stream in streams for client in stream.clients]
                self._drop_stalled(clients, now_s)
        finally:
            with self.lock:
                self._loop = None

    def _drop_stalled(self, clients: Iterable[Client], now_s: float) -> None:
        is_late = now_s - self._closed_s > self._timeouts.shutdown_timeout_s
        for client in clients:
            since_s = client.sending_since_s
            if is_late or (since_s is not None and now_s - since_s > self._timeouts.stall_s):
                client.cut()
                client.abort()

    # Methods to call with the lock held.

    def _publishing(self, name: str) -> Followed:
        """The stream of that name, which is about to publish something."""
        stream, gone = self._streams.publishing(name)
        self._close(gone)
        return stream

    def _close(self, stream: Followed | None) -> None:
        """Release the clients of a stream that was removed to make room."""
        if stream is not None:
            stream.is_closed = True
            self._announce(stream)

    def _announce(self, stream: Followed) -> None:
        """Wake the stream's clients, once for all messages until then."""
        if self._loop is None:
            return  # no client can be there yet, or any more
        is_first = not self._news
        self._news.add(stream)
        if is_first:
            with contextlib.suppress(RuntimeError):  # the loop has just been closed
                self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        with self.lock:
            news, self._news = self._news, set()
        for stream in news:
            for client in stream.clients:
                client.wake()


def _is_same(secret: str, wanted: str) -> bool:
    return hmac.compare_digest(secret.encode("utf-8", "replace"), wanted.encode())
