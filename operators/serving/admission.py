"""Which rooms are let in: as many as there is a place for, and a clear answer for the one too many."""

from operators.errors import UsageError


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
