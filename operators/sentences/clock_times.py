"""Writes English clock times in digits: ``half past nine`` is ``9:30``, ``a quarter to three`` is ``2:45``.

German counts half an hour from the next hour on ("halb neun" is 8:30): small models translate the words wrong
in all languages, and keep digits.
"""

from collections.abc import Iterable

import regex

from operators.sentences.number_words import (
    AFTER_TIME,
    AFTER_YEAR,
    CARDINAL,
    COUNTED,
    ORDINAL,
    TEEN,
    UNIT,
)

_MINUTES = UNIT | TEEN | {"twenty": 20, "quarter": 15, "half": 30}
_HOURS = {word: value for word, value in (UNIT | TEEN).items() if value <= 12}


def _any(words: Iterable[str]) -> str:
    return f"(?:{'|'.join(sorted(words))})"


_JOINT = "[ ‐‑-]"
_ROUND = rf"(?:twenty(?:{_JOINT}five)?|five|ten)"
#: Minutes that are nothing else, unlike the five in "five to ten people".
_SURE = rf"(?:(?:a )?quarter|(?:twenty{_JOINT}{_any(UNIT)}|{_any(UNIT | TEEN)}|twenty){_JOINT}minutes?)"
#: No number goes on behind the hour, and nothing is counted: "a quarter to three quarters".
_GOES_ON = COUNTED | CARDINAL.keys() | ORDINAL.keys() | {"half", "quarters", "of", "oh", "o"}
_HOUR = rf"{_JOINT}(?P<hour>{_any(_HOURS)})(?![\w'’]|[‐‑-]\w|{_JOINT}(?:\d|{_any(_GOES_ON)}\b))"
_IT_IS = r"it(?:['’]s| is| was)(?: now| nearly| almost)?"
_CUE = rf"\b(?:at(?: about| around| exactly)?|until|till|before|since|{_IT_IS})"
_DONE = rf"(?=[^\w\s]|\s?\Z| {_any(AFTER_TIME | AFTER_YEAR - {'are', 'had', 'has', 'was', 'were'})}\b)"
_CLOCK_TIME = regex.compile(
    rf"(?<![\w'’‐‑-])(?:(?P<minute>(?:a )?half|{_SURE}|{_ROUND}){_JOINT}past{_HOUR}"
    rf"|(?P<minute>{_SURE}){_JOINT}(?P<to>to|till){_HOUR}"
    rf"|(?<={_CUE} )(?P<minute>{_ROUND}){_JOINT}(?P<to>to){_HOUR}{_DONE}"
    rf"|(?<=\A|[.!?] )(?P<minute>{_ROUND}){_JOINT}(?P<to>to){_HOUR}(?=[.!?]|\Z))",
    regex.IGNORECASE | regex.ASCII,
)


def clock_times(text: str) -> str:
    """The text with its times of the clock in digits, where they are told by "past" or "to"."""
    return str(_CLOCK_TIME.sub(_written, text))


def _written(found: regex.Match[str]) -> str:
    minute = sum(_MINUTES.get(word, 0) for word in regex.findall(r"[a-z]+", found["minute"].lower()))
    hour = _HOURS[found["hour"].lower()]
    if found["to"]:
        hour, minute = (hour - 2) % 12 + 1, 60 - minute
    return f"{hour}:{minute:02}"
