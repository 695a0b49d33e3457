"""Connects the flow to all browsers: one thread publishes captions, another thread's loop sends them."""

import asyncio
import contextlib
import hmac
import secrets
from collections.abc import Iterable, Iterator, Sequence
from threading import Lock
from typing import Any

import msgspec

from connectors.view import Status
from connectors.web.messages import Languages, figures_after, state_of
from connectors.web.protocol import Bounds, StreamLog
from operators.errors import UsageError
from operators.events import Caption, ErasureRecord
from operators.speakers import Namings, checked_name

#: Default maximum number of clients of a server.
MAX_CLIENTS = 2000
#: Maximum number of remembered streams; beyond that, the one that was silent for longest is forgotten, ended
#: ones first. A stream that continues and has readers is kept in any case.
MAX_STREAMS = 64
# Seconds between two messages about the run, of each kind.
_TICK_S = 0.2
# Seconds of silence after which a client is sent the present state, which shows that the connection works.
_HEARTBEAT_S = 10.0
# Maximum number of a reader's preferred languages that are considered.
_MAX_WANTED = 20


class _Stream:
    def __init__(self, languages: Sequence[Languages], bounds: Bounds | None) -> None:
        #: The log of each language of captions, by its code.
        self.logs = {one.target: StreamLog(secrets.token_hex(4), one, bounds) for one in languages}
        #: The log of the first language.
        self.log = next(iter(self.logs.values()))
        #: The transcript, if there are several languages and none of them is the only spoken one.
        self.original: StreamLog | None = None
        spoken = self.log.language.source
        if len(self.logs) > 1 and spoken and spoken not in self.logs:
            original = msgspec.structs.replace(self.log.language, target=spoken, target_dir="auto")
            self.original = self.logs[spoken] = StreamLog(secrets.token_hex(4), original, bounds)
        self.clients: set[Client] = set()
        #: Whether anything was published, as opposed to only requested.
        self.is_real = False
        #: Whether clients disconnect as soon as they have everything.
        self.is_closed = False
        #: The secret that viewers need to follow it; None for a stream that all viewers may follow.
        self.secret: str | None = None

    def log_of(self, language: str | msgspec.UnsetType) -> StreamLog:
        """The log of a language; that of the first one if there is no such language."""
        return self.logs.get(language or "", self.log)

    def caption(self, caption: Caption) -> None:
        """Publish a caption; with those of the first language, also the transcript."""
        log = self.log_of(caption.language)
        log.caption(caption)
        if log is self.log and self.original is not None:
            self.original.caption(msgspec.structs.replace(caption, shown=caption.source, withheld=""))

    def wanted(self, languages: str) -> StreamLog:
        """The log of the first available language that a reader prefers, such as ``fr-CA,fr,en``.

        The same language in another region or script counts as available: pt-BR for pt, and pt for pt-BR.
        """
        for tag in languages.split(",")[:_MAX_WANTED]:
            base = tag.partition("-")[0]
            alike = (code for code in self.logs if code.partition("-")[0] == base)
            if found := next((code for code in (tag, base) if code in self.logs), next(alike, None)):
                return self.logs[found]
        return self.log

    def wake(self) -> None:
        """Make the clients check for news; on the thread of the server's loop."""
        for client in self.clients:
            client.wake()


class Client:
    """A position in a stream's journal; used on the thread of the server's loop.

    It has no queue: a slow client costs no memory, and is disconnected when its position is no longer in the
    journal.
    """

    def __init__(self, stream: _Stream, log: StreamLog, last_id: str | None, lock: Lock) -> None:
        """``lock`` is the hub's, and is held by the caller."""
        self._stream, self._log, self._lock = stream, log, lock
        self._position, self._first = log.arrival(last_id)
        self._news = asyncio.Event()
        self._is_cut = False

    @property
    def has_ended(self) -> bool:
        """Whether the stream is over and the client was given everything."""
        return self._log.is_over and self._position == self._log.position

    def wake(self) -> None:
        self._news.set()

    def cut(self) -> None:
        """Send it nothing more."""
        self._is_cut = True
        self._news.set()

    async def next(self) -> bytes:
        """The next data to send, as soon as there is any; empty at the end."""
        first, self._first = self._first, b""
        is_silent = False
        while not self._is_cut:
            self._news.clear()
            with self._lock:
                news = self._log.after(self._position)
                self._position = self._log.position
                standing = self._log.standing() if is_silent else b""
                is_closed = self._stream.is_closed
            if news is None:
                break
            # The present state has the number of the last message, so it follows missed messages.
            if data := first + news + standing:
                return data
            if is_closed:
                break
            try:
                async with asyncio.timeout(_HEARTBEAT_S):
                    await self._news.wait()
            except TimeoutError:
                is_silent = True
        return b""


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
        namings: Namings | None = None,
    ) -> None:
        """Prepare the streams.

        Args:
            languages: Languages of a stream, for each language of captions, unless it is opened with others.
            is_private: Streams are neither listed nor waited for; each is followed with the secret that it
                was opened with.
            namings: Receives the names that viewers give to voices, for the run.
        """
        self._languages, self._bounds = languages, bounds
        self._max_clients, self._max_streams = max_clients, max_streams
        #: Whether each stream is followed with a secret.
        self.is_private = is_private
        #: See the constructor.
        self.namings = namings or Namings()
        #: Held while a message is made, never while one is sent.
        self.lock = Lock()
        # Ordered by when they last published, the most recent one last.
        self._streams: dict[str, _Stream] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False
        self.clients = 0
        for name in streams:
            self._publishing(name)

    # Methods for the flow, on any thread.

    def caption(self, caption: Caption) -> None:
        with self.lock:
            stream = self._publishing(caption.stream)
            stream.caption(caption)
            self._announce(stream)

    def record(self, record: ErasureRecord, lost_s: float = 0.0) -> None:
        """Publish the figures of a caption, and the total seconds of lost audio."""
        with self.lock:
            stream = self._publishing(record.stream)
            log = stream.log_of(record.language)
            log.tell(figures_after(log.figures, record, lost_s))

    def status(self, status: Status, sentence: str | None = None) -> None:
        """Publish the run's status to all streams."""
        with self.lock:
            for stream in self._published():
                for log in stream.logs.values():
                    log.tell(state_of(status, sentence))

    def end(self, name: str | None = None) -> None:
        """Publish the end of a stream; by default, of all streams."""
        with self.lock:
            for stream in self._published() if name is None else [self._streams.get(name)]:
                if stream is None:
                    continue
                for log in stream.logs.values():
                    log.end()
                self._announce(stream)

    def close(self) -> None:
        """Release clients, each as soon as it has everything."""
        with self.lock:
            self._is_closed = True
            for stream in self._streams.values():
                self._close(stream)

    def open(self, name: str, languages: Sequence[Languages], secret: str) -> None:
        """Create a stream with its own languages of captions, which is followed with a secret.

        The secret leads to the newest stream that was opened with it.
        """
        with self.lock:
            for earlier in self._streams.values():
                if earlier.secret == secret:
                    earlier.secret = None
            self._streams[name] = stream = _Stream(languages, self._bounds)
            stream.secret = secret
            self._publishing(name)

    def listed(self) -> list[dict[str, Any]]:
        """The existing streams, and the state of each; none if they are private."""
        with self.lock:
            return [
                {
                    "name": name,
                    "state": "ended" if stream.log.is_over else stream.log.state.state,
                    "segments": stream.log.segments,
                    "clients": len(stream.clients),
                }
                for name, stream in self._streams.items()
                if stream.is_real and not self.is_private
            ]

    def followed(self, name: str, secret: str) -> str | None:
        """The name of the stream that a client with this address may follow; None if it may not.

        A stream that all may follow need not exist. A private one that is opened again has another name, and
        the link of the earlier one leads to it.
        """
        if not self.is_private:
            return name
        given = secret.encode("utf-8", "replace")
        with self.lock:
            known = self._streams.get(name)
            among = {name: known} if known is not None and known.secret is not None else self._streams
            for one, stream in among.items():
                if stream.secret is not None and hmac.compare_digest(given, stream.secret.encode()):
                    return one
        return None

    # Methods for the server, on the thread of its loop.

    def name(self, stream: str, speaker: str, name: str) -> None:
        """Name a voice, for the viewers of all its captions and for the run.

        Raises:
            UsageError: for an unknown stream or voice, or an invalid name.
        """
        name = checked_name(name)
        with self.lock:
            known = self._streams.get(stream)
            logs = [] if known is None else list(known.logs.values())
            # Captions in one language may come before those in another.
            called = dict.fromkeys(one for log in logs for one in log.called_like(speaker))
            if known is None or not called:
                raise UsageError("nobody of that name or number has spoken; choose one of the list")
            for log in logs:
                log.name(called, name)
            for one in called:
                self.namings.name(stream, one, name)
            self._announce(known)

    @property
    def is_full(self) -> bool:
        return self.clients >= self._max_clients

    @contextlib.contextmanager
    def join(self, name: str, last_id: str | None, languages: str = "") -> Iterator[Client]:
        """Add a client to a stream; an unknown stream is waited for. ``languages`` are those it prefers."""
        with self.lock:
            stream = self._streams.get(name) or self._create(name)
            client = Client(stream, stream.wanted(languages), last_id, self.lock)
            stream.clients.add(client)
            stream.is_closed = stream.is_closed or self._is_closed
        self.clients += 1
        try:
            yield client
        finally:
            self.clients -= 1
            with self.lock:
                stream.clients.discard(client)
                if not stream.clients and not stream.is_real and self._streams.get(name) is stream:
                    del self._streams[name]

    async def tend(self) -> None:
        """Send messages that are due, until it is cancelled."""
        self._loop = asyncio.get_running_loop()
        try:
            while True:
                await asyncio.sleep(_TICK_S)
                with self.lock:
                    for stream in self._streams.values():
                        if sum(log.tick() for log in stream.logs.values()):
                            stream.wake()
        finally:
            with self.lock:
                self._loop = None

    # Methods to call with the lock held.

    def _published(self) -> list[_Stream]:
        return [stream for stream in self._streams.values() if stream.is_real]

    def _create(self, name: str) -> _Stream:
        self._streams[name] = stream = _Stream(self._languages, self._bounds)
        return stream

    def _publishing(self, name: str) -> _Stream:
        """The stream of that name, created if necessary, to publish to; may remove another stream."""
        stream = self._streams.pop(name, None) or self._create(name)
        self._streams[name] = stream
        stream.is_real = True
        *others, _newest = (one for one in self._streams.items() if one[1].is_real)
        # A stream must not lose its readers, however many others publish.
        idle = [(one, other) for one, other in others if other.log.is_over or not other.clients]
        if len(others) >= self._max_streams and idle:
            gone, _ = min(idle, key=lambda named: (not named[1].log.is_over, bool(named[1].clients)))
            self._close(self._streams.pop(gone))
        return stream

    def _close(self, stream: _Stream) -> None:
        stream.is_closed = True
        self._announce(stream)

    def _announce(self, stream: _Stream) -> None:
        if self._loop is not None:  # otherwise no client can be there yet, or any more
            with contextlib.suppress(RuntimeError):  # the loop has just been closed
                self._loop.call_soon_threadsafe(stream.wake)
