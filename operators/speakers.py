"""Who speaks, as viewers read it, and the names that people give to voices while a run goes on."""

import unicodedata
from threading import Lock

from operators.errors import UsageError
from operators.languages import Language
from operators.text import cleaned

#: What a voice without a name is called, before its number, by the code of the viewer's language.
_WORDS = {"en": "Speaker", "de": "Sprecher", "fr": "Locuteur", "es": "Hablante", "pt": "Orador"}


def shown_name(speaker: str, language: Language) -> str:
    """The name of a `speaker`, or *Speaker 1* in the viewer's language for a voice without one."""
    if not speaker.isdecimal():
        return speaker
    return f"{_WORDS.get(language.base, _WORDS['en'])} {speaker}"


#: Characters of a name that is typed.
MAX_NAME = 50
# Names of a stream that wait; where nothing takes them, the oldest go.
_MAX_WAITING = 1000


def checked_name(typed: str) -> str:
    """The name that somebody typed for a voice, trimmed. Raises `UsageError` for one that is none."""
    if any(unicodedata.category(char) in ("Cc", "Cs") for char in typed.strip()):
        raise UsageError("this name has control characters; type it anew")
    name = cleaned(typed)
    if not name:
        raise UsageError("this name is empty; type one")
    if len(name) > MAX_NAME:
        raise UsageError(f"this name has {len(name)} characters; shorten it to {MAX_NAME}")
    if name.isdecimal():
        raise UsageError("a number alone is no name, because voices without one are numbered; add a letter")
    return name


class Namings:
    """Names that somebody gives to voices, on any thread, for the recognise stage to take."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: dict[str, dict[str, str]] = {}

    def name(self, stream: str, speaker: str, name: str) -> None:
        """Call a ``speaker`` of a stream by this name from now on; two with one name are one voice."""
        with self._lock:
            waiting = self._waiting.setdefault(stream, {})
            waiting[speaker] = name
            if len(waiting) > _MAX_WAITING:
                del waiting[next(iter(waiting))]

    def take(self, stream: str) -> dict[str, str]:
        """The names that were given since the last call, by speaker."""
        with self._lock:
            return self._waiting.pop(stream, {})
