"""Limits the number of concurrent streams of a flow."""

from collections.abc import Callable
from threading import Lock

#: Seconds of silence after which a stream frees its place; streams have no other end.
QUIET_S = 600.0
# Maximum number of refused streams that are recorded and reported to the user.
_MAX_REFUSED = 1000


class AdmissionControl:
    """Admits up to ``most`` streams of a flow; further ones are refused with a message. Thread-safe."""

    def __init__(self, most: int, now: Callable[[], float], tell: Callable[[str], None]) -> None:
        """``tell`` gets one message about each refused stream."""
        self._most = most
        self._now = now
        self._tell = tell
        self._lock = Lock()
        self._heard_s: dict[str, float] = {}
        #: Number of refused updates, and the first refused streams.
        self.refused = 0
        self._streams: set[str] = set()

    def admits(self, stream: str) -> bool:
        """Whether the stream of an incoming update is admitted."""
        with self._lock:
            now = self._now()
            if stream not in self._heard_s and len(self._heard_s) >= self._most:
                for quiet in [one for one, heard_s in self._heard_s.items() if now - heard_s >= QUIET_S]:
                    del self._heard_s[quiet]
                if len(self._heard_s) >= self._most:
                    self._refuse(stream)
                    return False
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

    def _refuse(self, stream: str) -> None:
        self.refused += 1
        if stream not in self._streams and len(self._streams) < _MAX_REFUSED:
            self._streams.add(stream)
            self._tell(
                f"room {stream!r} is refused: {self._most} rooms are open, the maximum of translate.rooms; "
                "raise it, or wait until another room has ended"
            )
