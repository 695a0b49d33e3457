"""The streams of a hub by name, and the browsers that follow them. A hub's streams are not thread-safe."""

import asyncio
import secrets
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import NamedTuple

import msgspec
from msgspec import UnsetType

from connectors.web.messages import Languages
from connectors.web.protocol import Bounds, StreamLog
from operators.events import Caption

# Languages of a reader that are looked for.
_MAX_WANTED = 20


class Followed:
    """A stream and its followers."""

    def __init__(self, logs: dict[str, StreamLog]) -> None:
        """``logs`` has what is published in each language of captions, by its code."""
        self.logs = logs
        #: That of the first language.
        self.log = next(iter(logs.values()))
        #: What was said, if there are several languages and none of them is the spoken one.
        self.original: StreamLog | None = None
        self.clients: set[Client] = set()
        #: Whether anything was published, as opposed to only requested.
        self.is_real = False
        #: Whether clients disconnect as soon as they have everything.
        self.is_closed = False
        #: What viewers must know to follow it; None for a stream that all viewers may follow.
        self.secret: str | None = None

    def log_of(self, language: str | UnsetType) -> StreamLog:
        """What is published in a language; in the first one, if there is no such language."""
        return self.logs.get(language or "", self.log)

    def caption(self, caption: Caption) -> None:
        """Publish a caption; with those of the first language, also what was said."""
        log = self.log_of(caption.language)
        log.caption(caption)
        if log is self.log and self.original is not None:
            self.original.caption(msgspec.structs.replace(caption, shown=caption.source, withheld=""))

    def wanted(self, languages: str) -> StreamLog:
        """The first of the languages that a reader prefers, such as ``fr-CA,fr,en``, that there is."""
        tags = [tag for one in languages.split(",")[:_MAX_WANTED] for tag in (one, one.partition("-")[0])]
        return next((self.logs[tag] for tag in tags if tag in self.logs), self.log)


class Client:
    """A position in a stream's journal; used on the thread of the server's loop.

    It has no queue: a slow client costs no memory, and is disconnected when its position is no longer in the
    journal.
    """

    def __init__(
        self, stream: Followed, last_id: str | None, abort: Callable[[], None], languages: str = ""
    ) -> None:
        """``abort`` drops the connection immediately; call with the hub's lock held.

        ``languages`` are as in `Followed.wanted`.
        """
        self._stream = stream
        self._log = stream.wanted(languages)
        self._position, self._first = self._log.arrival(last_id)
        self._wake = asyncio.Event()
        self._is_cut = False
        self._is_reminded = False
        self.abort = abort
        #: Since when something is being sent to it, on the hub's clock; None while nothing is.
        self.sending_since_s: float | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the stream is over and the client was given everything."""
        log = self._log
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
                log = self._log
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


#: Maximum number of clients of a server, unless it is told otherwise.
MAX_CLIENTS = 2000
#: Maximum number of remembered streams; beyond that, the one that was silent for longest is forgotten, one
#: that is over before any that goes on. One that goes on and has readers is kept in any case.
MAX_STREAMS = 64


class ListedStream(NamedTuple):
    """A stream in the list of streams."""

    name: str
    #: Its state, or ``ended``.
    state: str
    #: Number of its segments so far.
    segments: int
    #: Number of its clients.
    clients: int


class Streams:
    """Creates streams when they are requested, and forgets those that nobody needs."""

    def __init__(
        self, languages: Sequence[Languages], state: str, bounds: Bounds | None, max_streams: int
    ) -> None:
        """``state`` is the initial state of a stream, ``max_streams`` the number of those remembered."""
        self._max_streams = max_streams
        self._languages = languages
        self._state = state
        self._bounds = bounds
        # Ordered by when they last published, the most recent one last.
        self._by_name: dict[str, Followed] = {}

    def __iter__(self) -> Iterator[Followed]:
        return iter(list(self._by_name.values()))

    def published(self) -> list[Followed]:
        """The streams that have published anything."""
        return [stream for stream in self._by_name.values() if stream.is_real]

    def listed(self) -> list[ListedStream]:
        """A description of each stream that has published anything."""
        return [_listed(name, stream) for name, stream in self._by_name.items() if stream.is_real]

    def requested(self, name: str) -> Followed:
        """The stream of that name, for a client that wants to follow it."""
        return self._by_name.get(name) or self._create(name)

    def publishing(self, name: str) -> tuple[Followed, Followed | None]:
        """The stream of that name, which is about to publish; and one that was removed to make room."""
        stream = self._by_name.pop(name, None) or self._create(name)
        self._by_name[name] = stream
        stream.is_real = True
        return stream, self._made_room()

    def open(self, name: str, languages: Sequence[Languages], secret: str) -> Followed | None:
        """Create a stream that is followed with a secret; returns one that was removed to make room.

        The secret leads to the newest stream that was opened with it.
        """
        for earlier in self._by_name.values():
            if earlier.secret == secret:
                earlier.secret = None
        stream = self._create(name, languages)
        stream.secret = secret
        return self.publishing(name)[1]

    def known(self, name: str) -> Followed | None:
        """The stream of that name, if there is one."""
        return self._by_name.get(name)

    def opened_with(self, is_secret: Callable[[str], bool]) -> str | None:
        """The name of the stream with a secret."""
        named = ((name, one.secret) for name, one in self._by_name.items())
        return next((name for name, secret in named if secret is not None and is_secret(secret)), None)

    def forget_unused(self, name: str) -> None:
        """Forget a stream that never published, once no client waits for it."""
        stream = self._by_name.get(name)
        if stream is not None and not stream.clients and not stream.is_real:
            del self._by_name[name]

    def _made_room(self) -> Followed | None:
        """Forget a stream if there are too many; returns it."""
        *others, _newest = (one for one in self._by_name.items() if one[1].is_real)
        if len(others) < self._max_streams:
            return None
        # However many others publish, they must not take its readers from a stream.
        idle = [(name, one) for name, one in others if one.log.is_over or not one.clients]
        idle.sort(key=lambda named: (not named[1].log.is_over, bool(named[1].clients)))
        return self._by_name.pop(idle[0][0]) if idle else None

    def _create(self, name: str, languages: Sequence[Languages] = ()) -> Followed:
        logs = {
            one.target: StreamLog(secrets.token_hex(4), one, self._state, self._bounds)
            for one in languages or self._languages
        }
        stream = Followed(logs)
        if len(logs) > 1 and (spoken := stream.log.language.source) not in logs:
            said = msgspec.structs.replace(stream.log.language, target=spoken, target_dir="auto")
            stream.original = logs[spoken] = StreamLog(secrets.token_hex(4), said, self._state, self._bounds)
        self._by_name[name] = stream
        return stream


def _listed(name: str, stream: Followed) -> ListedStream:
    log = stream.log
    state = "ended" if log.is_over else log.state.state
    return ListedStream(name, state, log.segments, len(stream.clients))
