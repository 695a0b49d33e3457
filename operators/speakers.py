"""Who speaks, as viewers read it, and the names that people give to voices while a run goes on."""

import unicodedata
from threading import Lock

import regex

from operators.errors import UsageError
from operators.events import SegmentEvent, Speaker
from operators.languages import ENGLISH, Language
from operators.text import cleaned

# The first letter with a direction (UAX 9, P2), and the marks that give one to a line.
_RIGHT_TO_LEFT = regex.compile(r"[^\p{L}]*[\p{bc=R}\p{bc=AL}]")
_LRM, _RLM = "\u200e", "\u200f"


def shown_name(speaker: Speaker, language: Language) -> str:
    """The name of a speaker, on one line; of a voice without one, *Speaker 1* in the viewer's language.

    Empty if nobody is known.
    """
    if not speaker or not speaker.isdecimal():
        return cleaned(speaker or "")
    # Chinese and Japanese put no space before a number.
    space = " " if language.script.joint else ""
    return f"{language.speaker}{space}{speaker}" if language.speaker else f"{ENGLISH.speaker} {speaker}"


def introduced(name: str, text: str, language: Language) -> str:
    """A text with who says it before it, as ``Anna: Good morning.`` in the language of the text.

    A line takes its direction from its first letter, so that a mark goes before a name of the other one.
    """
    colon = "\u00a0: " if language.base == "fr" else ": " if language.script.joint else "："
    is_rtl = _RIGHT_TO_LEFT.match(name) is not None
    mark = "" if is_rtl == language.script.is_rtl else _LRM if is_rtl else _RLM
    return f"{mark}{name}{colon}{text}"


class Turns:
    """Finds where another one begins to speak, among the finals of any streams.

    Args:
        last: Who spoke last in an earlier run; empty if nobody is known.
    """

    def __init__(self, last: str = "") -> None:
        #: Who spoke last. The number of a voice is one of its stream; people with one name are one.
        self.last = last

    def begins(self, final: SegmentEvent) -> bool:
        """Whether another one speaks than before; a speaker who is not known changes nothing."""
        speaker, before = final.speaker or "", self.last
        self.last = f"{final.stream}/{speaker}" if speaker.isdecimal() else cleaned(speaker) or before
        return self.last != before


#: Characters of a name that is typed.
MAX_NAME = 50
# Names of a stream that wait; where nothing takes them, the oldest go.
_MAX_WAITING = 1000


def checked_name(typed: str) -> str:
    """The name that somebody typed for a voice, trimmed. Raises `UsageError` for one that is none."""
    if any(unicodedata.category(char) in ("Cc", "Cs") for char in typed.strip()):
        raise UsageError("this name has control characters; leave them out")
    name = cleaned(typed)
    if not name:
        raise UsageError("this name is empty; give one")
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
