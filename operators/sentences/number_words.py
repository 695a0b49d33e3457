"""The words of English numbers, and those around them that tell what a number is."""


def _counted_from(first: int, words: str) -> dict[str, int]:
    return {word: first + place for place, word in enumerate(words.split())}


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


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
#: How many digits are read in a row, so that time stays linear.
MAX_DIGITS = 20
THOUSAND = 1000
LARGE = {"million": 10**6, "billion": 10**9, "trillion": 10**12}
SCALE = LARGE | {"thousand": THOUSAND}
STARTS = frozenset(("a", "hundred", *CARDINAL, *ZERO, *ORDINAL))

MONTHS = _set("January February March April May June July August September October November December")
#: Small numbers before these are in digits, too.
MEASURES = _set(
    "percent cent dollar dollars cents euro euros pound pounds yen degrees kilos kilograms grams tons tonnes "
    "kilometers kilometres meters metres centimeters centimetres millimeters millimetres miles feet inches "
    "liters litres gallons acres hectares watts kilowatts megawatts volts megabytes gigabytes"
).union(LARGE)
#: Two numbers before these are no year: "twenty twenty-five year olds", "fifteen sixteen people".
COUNTED = MEASURES | _set(
    "per point hundred thousand year years month months week weeks day days hour hours minute minutes "
    "second seconds people men women children times "
    "foot inch mile meter metre pound page dollar gallon acre degree member seat item"
)
BEFORE_YEAR = _set("in since until till by from year circa the early late mid")
#: What follows a year: in "in fourteen, fifty five people died" there is none.
AFTER_YEAR = _set(
    "a after also an and are as at because before but by during for from had has he her his how if in into "
    "is it its of on or our she so than that the their then there these they this to until was we were what "
    "when where which while who will with would you"
)
BEFORE_TIME = _set("at by until till before after around about from since")
AFTER_TIME = _set("am pm a p")
#: "Room nine oh five" is no time.
BEFORE_CODE = _set(
    "room flight number route highway interstate page extension gate channel code area error bus train line "
    "building suite unit section chapter model dial call"
)
#: Words in "s" after a time: "since ten thirty students have left" has none.
NO_PLURALS = _set(
    "works starts begins sounds suits seems looks means ends comes gets makes leaves opens closes always "
    "sometimes perhaps besides unless towards across"
)
#: "The twenty second of May", but "a twenty second clip".
AFTER_SECOND = _set("of century time anniversary birthday street amendment")
LINKS = _set("to or and through")
