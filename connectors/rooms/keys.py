"""The keys of rooms in a file, so that a room keeps its links after a restart of its server."""

from pathlib import Path
from typing import Annotated

import msgspec

from connectors.files.atomic import write_atomically
from connectors.files.contents import DAMAGED, read_text
from connectors.files.output import WriteError
from connectors.messages import log_event
from connectors.rooms.messages import MAX_NAME
from operators.errors import UsageError

# Number of rooms that are stored, those that were opened last; and maximum bytes of the file.
_MAX_ROOMS, _MAX_BYTES = 1000, 10**6


class _Line(msgspec.Struct, frozen=True):
    room: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NAME)]
    # As long as a new one: a shorter one could be guessed.
    key: Annotated[str, msgspec.Meta(pattern="^[0-9A-Za-z_-]{22,80}$")]


class RoomKeys:
    """The key of each room and its name, one room a line; for one server at a time. Not thread-safe.

    The file has mode 0600, because a key allows speaking in a room and reading its captions.
    """

    def __init__(self, path: Path) -> None:
        """Read the file; one that does not exist is created.

        Raises:
            UsageError: for a damaged line.
            InputError: when it cannot be read.
            OutputError: when it cannot be written.
        """
        self._path = path
        self._names: dict[str, str] = {}
        text = read_text(path, "the keys", _MAX_BYTES, "choose another file") if path.exists() else ""
        for number, line in enumerate(text.splitlines(), 1):
            try:
                one = msgspec.json.decode(line, type=_Line)
            except DAMAGED:
                raise UsageError(
                    f"{path}: line {number} is not a room and its key; remove it: the room gets a new link"
                ) from None
            self._names[one.key] = one.room
        self._write()

    def name(self, key: str) -> str | None:
        """The name of the room with this key; None if there is none."""
        return self._names.get(key)

    def keep(self, name: str, key: str) -> None:
        """Store a room that is opened. If the file cannot be written now, the next room tries again."""
        self._names.pop(key, None)
        self._names[key] = name
        while len(self._names) > _MAX_ROOMS:
            del self._names[next(iter(self._names))]
        try:
            self._write()
        except WriteError as error:
            log_event(
                "room_key_unsaved", f"{error}; after a restart now, the last rooms would have new links"
            )

    def _write(self) -> None:
        lines = [_Line(name, key) for key, name in self._names.items()]
        write_atomically(self._path, msgspec.json.Encoder().encode_lines(lines), is_secret=True)
