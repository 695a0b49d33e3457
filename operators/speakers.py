"""Names of speakers: as viewers read them, and as people assign them to voices during a run."""

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
    """The name of a speaker on one line; *Speaker 1* in the viewer's language for a voice without a name.

    Empty if the speaker is unknown.
    """
    if not speaker or not speaker.isdecimal():
        return cleaned(speaker or "")
    # Chinese and Japanese put no space before a number.
    space = " " if language.script.joint else ""
    return f"{language.speaker}{space}{speaker}" if language.speaker else f"{ENGLISH.speaker} {speaker}"


def introduced(name: str, text: str, language: Language) -> str:
    """A text preceded by its speaker, as ``Anna: Good morning.``, in the style of the text's language.

    A line takes its direction from its first letter. So a direction mark precedes a name that is written in
    the other direction.
    """
    colon = "\u00a0: " if language.base == "fr" else ": " if language.script.joint else "："
    is_rtl = _RIGHT_TO_LEFT.match(name) is not None
    mark = "" if is_rtl == language.script.is_rtl else _LRM if is_rtl else _RLM
    return f"{mark}{name}{colon}{text}"


class Turns:
    """Detects changes of the speaker among the finals of any streams.

    Args:
        last: The last speaker of an earlier run; empty if unknown.
    """

    def __init__(self, last: str = "") -> None:
        #: The last speaker. Numbers of voices are per stream; names are compared across streams.
        self.last = last

    def begins(self, final: SegmentEvent) -> bool:
        """Whether the speaker has changed; an unknown speaker changes nothing."""
        speaker, before = final.speaker or "", self.last
        self.last = f"{final.stream}/{speaker}" if speaker.isdecimal() else cleaned(speaker) or before
        return self.last != before


#: Maximum characters of a name that is typed.
MAX_NAME = 50
# Maximum names of a stream that wait; if nothing takes them, the oldest are dropped.
_MAX_WAITING = 1000


def checked_name(typed: str) -> str:
    """The name that somebody typed for a voice, trimmed. Raises `UsageError` if it is invalid."""
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
        """Name a ``speaker`` of a stream from now on; two speakers with the same name are one voice."""
        with self._lock:
            waiting = self._waiting.setdefault(stream, {})
            waiting[speaker] = name
            if len(waiting) > _MAX_WAITING:
                del waiting[next(iter(waiting))]

    def take(self, stream: str) -> dict[str, str]:
        """The names that were given since the last call, by speaker."""
        with self._lock:
            return self._waiting.pop(stream, {})
