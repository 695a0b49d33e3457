"""Which rooms are let in: as many as there is a place for, and a clear answer for the one too many."""

from collections.abc import Callable
from threading import Lock

from operators.errors import UsageError

#: Seconds of silence after which the room of a stream, which has no other end, gives its place away.
QUIET_S = 600.0


class TooManyRoomsError(UsageError):
    """There is no place for another room."""


class Admission:
    """The rooms that are in."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rooms: set[str] = set()

    def __len__(self) -> int:
        return len(self._rooms)

    def admit(self, room: str) -> None:
        """Let ``room`` in, unless it is in already. Raises `TooManyRoomsError`."""
        if room in self._rooms:
            return
        if len(self._rooms) >= self._most:
            raise TooManyRoomsError(
                f"room {room!r} has no place: {len(self._rooms)} rooms are in, the most that "
                "translate.rooms allows; raise it, or wait until another room has ended"
            )
        self._rooms.add(room)

    def leave(self, room: str) -> None:
        """Give the place of ``room`` away; it may have none."""
        self._rooms.discard(room)


class Door:
    """Lets in the streams of a flow, whose rooms end with their silence; any thread may ask."""

    def __init__(self, most: int, now: Callable[[], float], tell: Callable[[str], None]) -> None:
        """``tell`` is given a sentence about each stream that has no place, once."""
        self._admission = Admission(most)
        self._now = now
        self._tell = tell
        self._lock = Lock()
        self._heard_s: dict[str, float] = {}
        #: Updates of each stream that had no place.
        self.refused: dict[str, int] = {}

    def admits(self, stream: str) -> bool:
        """Whether the stream of an update that has come has a place."""
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
        """What is to be said at the end of a run in which streams had no place."""
        with self._lock:
            if not self.refused:
                return None
            updates, streams = sum(self.refused.values()), len(self.refused)
        return (
            f"{updates} {'update' if updates == 1 else 'updates'} of {streams} "
            f"{'stream' if streams == 1 else 'streams'} without a place were left out; raise translate.rooms"
        )

    def _clear(self, now: float) -> bool:
        """Give away the places of rooms that have been quiet for long; whether there were any."""
        quiet = [stream for stream, heard_s in self._heard_s.items() if now - heard_s >= QUIET_S]
        for stream in quiet:
            del self._heard_s[stream]
            self._admission.leave(stream)
        return bool(quiet)

    def _refuse(self, stream: str, why: str) -> bool:
        if stream not in self.refused:
            self._tell(why)
        self.refused[stream] = self.refused.get(stream, 0) + 1
        return False
