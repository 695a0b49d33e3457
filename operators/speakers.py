"""Who speaks, as viewers read it, and the names that people give to voices while a run goes on."""

from threading import Lock

from operators.languages import Language

#: What a voice without a name is called, before its number, by the code of the viewer's language.
_WORDS = {"en": "Speaker", "de": "Sprecher", "fr": "Locuteur", "es": "Hablante", "pt": "Orador"}


def shown_name(speaker: str, language: Language) -> str:
    """The name of a `speaker`, or *Speaker 1* in the viewer's language for a voice without one."""
    if not speaker.isdecimal():
        return speaker
    return f"{_WORDS.get(language.base, _WORDS['en'])} {speaker}"


class Namings:
    """Names that somebody gives to voices, on any thread, for the recognise stage to take."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: dict[str, dict[str, str]] = {}

    def name(self, stream: str, speaker: str, name: str) -> None:
        """Call a ``speaker`` of a stream by this name from now on; two with one name are one voice."""
        with self._lock:
            self._waiting.setdefault(stream, {})[speaker] = name

    def take(self, stream: str) -> dict[str, str]:
        """The names that were given since the last call, by speaker."""
        with self._lock:
            return self._waiting.pop(stream, {})
