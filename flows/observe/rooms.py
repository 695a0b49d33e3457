"""The rooms of a server, as its settings describe them."""

from connectors.rooms.registry import RoomRegistry
from connectors.rooms.room import Limits
from flows.settings.schema import RecognizeSettings, Settings
from operators.errors import UsageError
from operators.languages import language
from operators.recognizers.part import RECOGNIZERS

#: Maximum number of rooms unless the settings say otherwise.
ROOMS = 4


def room_registry(settings: Settings) -> RoomRegistry:
    """No rooms yet, and what they may be.

    Raises:
        UsageError: for languages that cannot be offered; for a run that is to be resumed.
    """
    if settings.recovery.folder is not None:
        raise UsageError("rooms end with their server and cannot be resumed; leave recovery.folder out")
    given = settings.rooms
    spoken = given.spoken or (settings.translate.source,)
    written = given.written or (settings.translate.target,)
    _check_spoken(settings.recognize, spoken)
    limits = Limits(
        rooms=settings.translate.rooms or ROOMS,
        silence_s=given.silence_s,
        linger_s=given.linger_s,
        message_bytes=given.message_bytes,
        bytes_per_second=given.bytes_per_second,
        buffer_s=settings.input.buffer_s,
    )
    return RoomRegistry(limits, tuple(map(language, spoken)), tuple(map(language, written)))


def _check_spoken(recognize: RecognizeSettings, spoken: tuple[str, ...]) -> None:
    if len(spoken) > 1 and not RECOGNIZERS[recognize.engine].is_multilingual:
        others = [part.name for part in RECOGNIZERS.values() if part.is_multilingual]
        raise UsageError(
            f"rooms.from: {recognize.engine} recognises one language; name only that one, or choose the "
            f"recogniser {' or '.join(others)}"
        )
