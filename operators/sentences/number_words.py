"""The words of English numbers, context words that show the kind of a number, and times of day.

German counts half an hour to the next hour ("halb neun" is 8:30). Small models translate such words wrongly
into all languages, but keep digits.
"""

from collections.abc import Iterable

import regex


def _counted_from(first: int, words: str) -> dict[str, int]:
    return {word: first + place for place, word in enumerate(words.split())}


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _any(words: Iterable[str]) -> str:
    return f"(?:{'|'.join(sorted(words))})"


UNIT = _counted_from(1, "one two three four five six seven eight nine")
TEEN = _counted_from(10, "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
TENS = {
    word: 10 * n
    for word, n in _counted_from(2, "twenty thirty forty fifty sixty seventy eighty ninety").items()
}
CARDINAL = UNIT | TEEN | TENS
DECADE = {word[:-1] + "ies": n for word, n in TENS.items()}
UNIT_ORDINAL = _counted_from(1, "first second third fourth fifth sixth seventh eighth ninth")
ORDINAL = (
    UNIT_ORDINAL
    | {word + "th": n for word, n in TEEN.items()}
    | {word[:-1] + "ieth": n for word, n in TENS.items()}
    | {"twelfth": 12}
)
ZERO = {"zero": 0, "nought": 0}
DIGIT = UNIT | ZERO | {"oh": 0, "o": 0}
#: Maximum number of digits read in a row, which keeps the time linear.
MAX_DIGITS = 20
THOUSAND = 1000
LARGE = {"million": 10**6, "billion": 10**9, "trillion": 10**12}
SCALE = LARGE | {"thousand": THOUSAND}
STARTS = frozenset(("a", "hundred", *CARDINAL, *ZERO, *ORDINAL))

MONTHS = _set("January February March April May June July August September October November December")
#: Small numbers before these are also written in digits.
MEASURES = _set(
    "percent cent dollar dollars cents euro euros pound pounds yen degrees kilos kilograms grams tons tonnes "
    "kilometers kilometres meters metres centimeters centimetres millimeters millimetres miles feet inches "
    "liters litres gallons acres hectares watts kilowatts megawatts volts megabytes gigabytes"
).union(LARGE)
#: Two numbers before these are not a year: "twenty twenty-five year olds", "fifteen sixteen people".
COUNTED = MEASURES | _set(
    "per point hundred thousand year years month months week weeks day days hour hours minute minutes "
    "second seconds people men women children times "
    "foot inch mile meter metre pound page dollar gallon acre degree member seat item"
)
BEFORE_YEAR = _set("in since until till by from year circa the early late mid")
#: Words after a year; "in fourteen, fifty five people died" contains no year.
AFTER_YEAR = _set(
    "a after also an and are as at because before but by during for from had has he her his how if in into "
    "is it its of on or our she so than that the their then there these they this to until was we were what "
    "when where which while who will with would you"
)
BEFORE_TIME = _set("at by until till before after around about from since")
AFTER_TIME = _set("am pm a p")
#: "Room nine oh five" is not a time.
BEFORE_CODE = _set(
    "room flight number route highway interstate page extension gate channel code area error bus train line "
    "building suite unit section chapter model dial call"
)
#: Words in "s" that may follow a time; "since ten thirty students have left" contains no time.
NO_PLURALS = _set(
    "works starts begins sounds suits seems looks means ends comes gets makes leaves opens closes always "
    "sometimes perhaps besides unless towards across"
)
#: "The twenty second of May", but "a twenty second clip".
AFTER_SECOND = _set("of century time anniversary birthday street amendment")
LINKS = _set("to or and through")

_MINUTES = UNIT | TEEN | {"twenty": 20, "quarter": 15, "half": 30}
_HOURS = {word: value for word, value in (UNIT | TEEN).items() if value <= 12}


_JOINT = "[ ‐‑-]"
_ROUND = rf"(?:twenty(?:{_JOINT}five)?|five|ten)"
#: Unambiguous minutes, unlike the five in "five to ten people".
_SURE = rf"(?:(?:a )?quarter|(?:twenty{_JOINT}{_any(UNIT)}|{_any(UNIT | TEEN)}|twenty){_JOINT}minutes?)"
#: Words that must not follow the hour, because they continue the number: "a quarter to three quarters".
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
    """The text with its times of day in digits: ``half past nine`` is ``9:30``."""
    return str(_CLOCK_TIME.sub(_written, text))


def _written(found: regex.Match[str]) -> str:
    minute = sum(_MINUTES.get(word, 0) for word in regex.findall(r"[a-z]+", found["minute"].lower()))
    hour = _HOURS[found["hour"].lower()]
    if found["to"]:
        hour, minute = (hour - 2) % 12 + 1, 60 - minute
    return f"{hour}:{minute:02}"
