"""Admission control: a limited number of rooms is admitted; any further room gets a clear answer."""

from collections.abc import Callable
from threading import Lock

from operators.errors import UsageError

#: Seconds of silence after which a stream's room frees its place; such rooms have no other end.
QUIET_S = 600.0
# Maximum number of refused streams that are remembered, and told to the user, by name.
_MAX_REFUSED = 1000


class TooManyRoomsError(UsageError):
    """No further room can be admitted."""


class Admission:
    """The admitted rooms."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rooms: set[str] = set()

    def __len__(self) -> int:
        return len(self._rooms)

    def admit(self, room: str) -> None:
        """Admit ``room``, unless it is admitted already. Raises `TooManyRoomsError`."""
        if room in self._rooms:
            return
        if len(self._rooms) >= self._most:
            raise TooManyRoomsError(
                f"room {room!r} has no place: {len(self._rooms)} rooms are in, the most that "
                "translate.rooms allows; raise it, or wait until another room has ended"
            )
        self._rooms.add(room)

    def leave(self, room: str) -> None:
        """Free the place of ``room``, if it has one."""
        self._rooms.discard(room)


class Door:
    """Admits the streams of a flow, whose rooms end after a long silence; thread-safe."""

    def __init__(self, most: int, now: Callable[[], float], tell: Callable[[str], None]) -> None:
        """``tell`` gets one sentence about each stream that is refused, once."""
        self._admission = Admission(most)
        self._now = now
        self._tell = tell
        self._lock = Lock()
        self._heard_s: dict[str, float] = {}
        #: Updates that were refused, and the first streams of which they were.
        self.refused = 0
        self._streams: set[str] = set()

    def admits(self, stream: str) -> bool:
        """Whether the stream of an incoming update is admitted."""
        with self._lock:
            now = self._now()
            try:
                self._admission.admit(stream)
            except TooManyRoomsError as error:
                if not self._clear(now):
                    return self._refuse(stream, str(error))
                self._admission.admit(stream)
            self._heard_s[stream] = now
            return True

    def complaint(self) -> str | None:
        """The message at the end of a run that refused streams."""
        with self._lock:
            if not self.refused:
                return None
            updates, streams = self.refused, len(self._streams)
        least = "at least " if streams == _MAX_REFUSED else ""
        return (
            f"{updates} {'update' if updates == 1 else 'updates'} of {least}{streams} "
            f"{'stream' if streams == 1 else 'streams'} without a place were left out; raise translate.rooms"
        )

    def _clear(self, now: float) -> bool:
        """Free the places of rooms that have been quiet for long; return whether there were any."""
        quiet = [stream for stream, heard_s in self._heard_s.items() if now - heard_s >= QUIET_S]
        for stream in quiet:
            del self._heard_s[stream]
            self._admission.leave(stream)
        return bool(quiet)

    def _refuse(self, stream: str, why: str) -> bool:
        self.refused += 1
        if stream not in self._streams and len(self._streams) < _MAX_REFUSED:
            self._streams.add(stream)
            self._tell(why)
        return False
