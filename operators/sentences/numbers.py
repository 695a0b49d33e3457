"""Writes spelled-out English numbers in digits, as a copy editor would (inverse text normalisation).

Recognisers write "fourteen, sixty five". A small translator makes other numbers of such words, and keeps
digits. The rules are those under which the models for captions keep most figures: digits from ten on, also
in ordinals; smaller numbers stay words unless they belong to a measure or to a number in digits; percent and
dollars stay words; 4 digits have no comma, so that a year looks the same as a count.

Pure, and linear in the length of the text.
"""

import re
from itertools import pairwise
from typing import NamedTuple

from operators.languages import Language
from operators.sentences.clock_times import clock_times
from operators.sentences.number_words import (
    AFTER_SECOND,
    AFTER_TIME,
    AFTER_YEAR,
    BEFORE_CODE,
    BEFORE_TIME,
    BEFORE_YEAR,
    CARDINAL,
    COUNTED,
    DECADE,
    DIGIT,
    LINKS,
    MAX_DIGITS,
    MEASURES,
    MONTHS,
    NO_PLURALS,
    ORDINAL,
    SCALE,
    STARTS,
    TEEN,
    TENS,
    THOUSAND,
    UNIT,
    UNIT_ORDINAL,
    ZERO,
)

_WORD = re.compile(r"\w+")
_JOINT = re.compile(r"\s+|\s?[-‐‑]\s?")
_COMMA = re.compile(r",\s+")
_HYPHENS = frozenset("-‐‑")
# A hyphen before these makes no measure, but "thirty-second" may be one.
_NUMBERS = (STARTS | DECADE.keys()) - {"second"}


def digits(text: str, language: Language) -> str:
    """The text with its spelled-out numbers in digits; a language other than English is returned as it is.

    Only the last number of a text changes when more words are heard, with those that it is linked to
    ("five or fifteen"): "sixty" is ``60``, then "sixty two" is ``62``. Idempotent.
    """
    if language.code != "en":
        return text
    return _Words(clock_times(text)).rewritten()


class _Number(NamedTuple):
    """A number in the text: its first word, the word behind it, and how it is written."""

    start: int
    end: int
    written: str
    #: Of a plain cardinal; 0 for all else.
    value: int = 0
    #: 100 or 1000 if the words are a smaller number and "hundred" or "thousand".
    scale: int = 1
    #: Whether it stays a word unless it is linked to a number in digits.
    is_word: bool = False


class _Group(NamedTuple):
    """A number below 10,000, and the word behind it."""

    value: int
    end: int
    scale: int = 1
    is_ordinal: bool = False


class _Words:
    """The words of a text, and the numbers that they spell."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._spans = [match.span() for match in _WORD.finditer(text)]
        self._words = [text[start:end].lower() for start, end in self._spans]

    def rewritten(self) -> str:
        """The text with digits."""
        numbers = self._numbers()
        if not numbers:
            return self._text
        parts: list[str] = []
        place = 0
        links = [self._link(left, right) for left, right in pairwise(numbers)]
        for number in _linked(numbers, links):
            if not number.is_word:
                parts += self._text[place : self._spans[number.start][0]], number.written
                place = self._spans[number.end - 1][1]
        return "".join(parts) + self._text[place:]

    def _numbers(self) -> list[_Number]:
        numbers: list[_Number] = []
        place = 0
        while place < len(self._words):
            is_listed = bool(numbers) and numbers[-1].end == place and self._comma(place)
            number = self._number(place, is_listed=is_listed)
            if number is not None and number.written:
                numbers.append(number)
            place = place + 1 if number is None else number.end
        return numbers

    def _word(self, place: int) -> str:
        return self._words[place] if 0 <= place < len(self._words) else ""

    def _gap(self, place: int) -> str:
        """What is between this word and the one before it."""
        if not 0 < place < len(self._words):
            return "."
        return self._text[self._spans[place - 1][1] : self._spans[place][0]]

    def _next(self, place: int) -> str:
        """This word if it is joined to the one before it by a space or a hyphen; else nothing."""
        return self._words[place] if _JOINT.fullmatch(self._gap(place)) else ""

    def _comma(self, place: int) -> bool:
        return _COMMA.fullmatch(self._gap(place)) is not None

    def _previous(self, place: int) -> str:
        return self._word(place - 1) if self._next(place) else ""

    def _number(self, place: int, *, is_listed: bool) -> _Number | None:
        word = self._words[place]
        if word in DECADE:
            return _Number(place, place + 1, f"{DECADE[word]}s")
        if word not in STARTS:
            return None
        return (
            self._ordinal(place)
            or self._time(place)
            or self._digit_by_digit(place)
            or self._year(place, is_listed=is_listed)
            or self._cardinal(place)
        )

    def _ordinal(self, place: int) -> _Number | None:
        """The twenty-first; the fourth only of a month."""
        found = self._small_ordinal(place)
        if found is None:
            return None
        value, end = found
        if value < 10:
            after = end + 1 if self._next(end) == "of" else end
            is_date = self._is_month(place - 1, place) or self._is_month(after, after)
            return _Number(place, end, _nth(value) if is_date else "")
        is_fraction = self._next(end) == "of" and self._previous(place) in ("a", "an", *UNIT)
        return _Number(place, end, "" if is_fraction else _nth(value))

    def _is_month(self, place: int, joint: int) -> bool:
        """Whether this word, joined at ``joint``, is a month: "may" is none."""
        return self._next(joint) != "" and self._text[slice(*self._spans[place])] in MONTHS

    def _small_ordinal(self, place: int) -> tuple[int, int] | None:
        word, following = self._words[place], self._next(place + 1)
        if word in TENS and following in UNIT_ORDINAL:
            is_time = (
                following == "second"
                and (self._gap(place + 1).isspace() or self._previous(place) in ("a", *CARDINAL))
                and self._next(place + 2) not in AFTER_SECOND
                and not self._is_month(place - 1, place)
            )
            return None if is_time else (TENS[word] + UNIT_ORDINAL[following], place + 2)
        value = ORDINAL.get(word)
        return None if value is None else (value, place + 1)

    def _digit_by_digit(self, place: int) -> _Number | None:
        """Five five five one: four digits, or three with a zero among them."""
        said = self._digits(place)
        following = self._next(place + len(said))
        is_number = (len(said) == 3 and said[1] == "0") or len(said) > 3
        if not is_number or following.isdigit() or following in ("point", "hundred", *SCALE):
            return None
        return _Number(place, place + len(said), said)

    def _digits(self, place: int) -> str:
        said = ""
        while (self._next(place) if said else self._word(place)) in DIGIT and len(said) < MAX_DIGITS:
            said += str(DIGIT[self._words[place]])
            place += 1
        return said

    def _below_hundred(self, place: int) -> tuple[int, int] | None:
        word = self._word(place)
        if word in TENS:
            unit = UNIT.get(self._next(place + 1))
            return (TENS[word], place + 1) if unit is None else (TENS[word] + unit, place + 2)
        value = CARDINAL.get(word)
        return None if value is None else (value, place + 1)

    def _two_digits(self, place: int) -> tuple[int, int] | None:
        """The second half of a year or a time: fifty-five, ten, oh five."""
        if self._word(place) in ("oh", "o") and self._next(place + 1) in UNIT:
            return UNIT[self._words[place + 1]], place + 2
        found = self._below_hundred(place)
        if found is None or found[0] < 10 or self._next(found[1]) in ("hundred", *SCALE):
            return None
        return found

    def _time(self, place: int) -> _Number | None:
        """At three thirty, nine oh five; and other pairs of a small number and a larger one stay words."""
        hour = UNIT.get(self._words[place]) or TEEN.get(self._words[place], 13)
        minute = self._two_digits(place + 1) if hour <= 12 and self._next(place + 1) else None
        if minute is None:
            return None
        value, end = minute
        before = self._previous(place)
        is_cued = before in BEFORE_TIME or self._next(end) in AFTER_TIME
        # "Four oh four" is a code.
        is_oh = value < 10 and value != hour and before not in BEFORE_CODE
        is_usual = (is_oh or (hour >= 10 and value % 5 == 0)) and before not in BEFORE_YEAR
        is_spelled = value < 10 and (self._next(end) in DIGIT or self._next(end).isdigit())
        is_count = is_spelled or (before != "at" and self._is_plural(end))
        if value < 60 and not self._is_counted(end) and not is_count and (is_cued or is_usual):
            return _Number(place, end, f"{hour}:{value:02}")
        is_pair = hour < 10 <= value and not self._is_compound(end)
        return _Number(place, end, "") if is_pair else None

    def _is_counted(self, place: int) -> bool:
        """Whether a number before this word counts or measures: "people", "-page"."""
        return self._next(place) in COUNTED or self._is_compound(place)

    def _is_compound(self, place: int) -> bool:
        """Whether a hyphen joins this word, which is no number, to the one before it: "forty-foot"."""
        word = self._word(place)
        return self._gap(place) in _HYPHENS and word.isalpha() and word not in _NUMBERS

    def _is_plural(self, place: int) -> bool:
        """Whether this is most likely the plural of a noun: "students"."""
        word = self._next(place)
        is_other = word in NO_PLURALS or word.endswith(("ss", "us", "is"))
        return word[3:].endswith("s") and not is_other and self._text[self._spans[place][0]].islower()

    def _year(self, place: int, *, is_listed: bool) -> _Number | None:
        """Fourteen fifty-five, also with a comma; nineteen oh five; the eighteen sixties."""
        century = TEEN.get(self._words[place]) or (20 if self._words[place] == "twenty" else 0)
        following = self._next(place + 1)
        if century and following in DECADE:
            return _Number(place, place + 2, f"{century}{DECADE[following]}s")
        if century and following == "hundreds":
            return _Number(place, place + 2, f"{century}00s")
        is_apart = self._comma(place + 1)
        found = self._two_digits(place + 1) if century and (following or is_apart) else None
        if found is None or self._is_counted(found[1]):
            return None
        value, end = found
        is_cued = self._previous(place) in BEFORE_YEAR
        if century <= 12 and self._previous(place) != "in" and self._is_plural(end):
            return None
        if is_apart:
            is_alone = not is_listed and century > 12 and value != century + 1
            is_plain = (value % 10 or value >= 40) and not self._goes_on(end)
            ends = not self._next(end) or self._next(end) in AFTER_YEAR or self._previous(place) == "the"
            is_year = bool(is_alone and ends and (is_cued or is_plain))
        else:
            is_year = is_cued or (value != century + 1 if century < 20 else value < 30)
        return _Number(place, end, f"{century}{value:02}") if is_year else None

    def _goes_on(self, place: int) -> bool:
        """Whether a list of numbers goes on here."""
        if self._next(place) in ("or", "and"):
            place += 1
        elif not self._comma(place):
            return False
        return self._word(place) in CARDINAL

    def _group(self, place: int, *, may_add: bool) -> _Group | None:
        """A number below 100, or with one hundred: eighteen hundred and three."""
        found = self._before_hundred(place)
        if (
            found is None
            or self._word(found[1]) != "hundred"
            or not (found[1] == place or self._next(found[1]))
        ):
            return found and _Group(*found)
        value, end = 100 * found[0], found[1] + 1
        after = end + 1 if self._next(end) == "and" else end
        if not self._next(after) or (after > end and not may_add and self._next(after + 1) != "and"):
            return _Group(value, end, 100)
        ordinal = self._small_ordinal(after)
        if ordinal is not None:
            return _Group(value + ordinal[0], ordinal[1], is_ordinal=True)
        rest = self._below_hundred(after)
        if rest is None or self._next(rest[1]) == "hundred":
            return _Group(value, end, 100)
        return _Group(value + rest[0], rest[1])

    def _before_hundred(self, place: int) -> tuple[int, int] | None:
        """A number below 100; "a" hundred; or nothing, in "the hundred and fifty"."""
        word, following = self._word(place), self._next(place + 1)
        if word == "a":
            return (1, place + 1) if following in ("hundred", "thousand") else None
        if word == "hundred":
            is_number = following == "and" and self._next(place + 2) in CARDINAL | ORDINAL
            return (1, place) if is_number and self._previous(place) in ("", "the") else None
        return self._below_hundred(place)

    def _cardinal(self, place: int) -> _Number | None:
        """Three hundred and seventy thousand; three point five; two and a half; hundred and first."""
        if self._words[place] == "a" and self._previous(place) == "half":
            return None
        if self._words[place] in ZERO:
            return self._fraction(place, 0, place + 1) or self._counted(place, _Group(0, place + 1))
        may_add = self._previous(place) != "between"
        first = self._group(place, may_add=may_add)
        if first is None or first.is_ordinal:
            return first and _Number(place, first.end, _nth(first.value))
        return (
            self._fraction(place, first.value, first.end)
            or self._scaled(place, first, may_add=may_add)
            or self._counted(place, first)
        )

    def _counted(self, place: int, group: _Group) -> _Number:
        measure = self._next(group.end + 1 if self._next(group.end) == "per" else group.end)
        is_word = group.value < 10 and measure not in MEASURES
        return _Number(place, group.end, _spelled(group.value), group.value, group.scale, is_word)

    def _fraction(self, place: int, value: int, end: int) -> _Number | None:
        """Three point five, three point twenty-two, three and a half."""
        if [self._next(end + ahead) for ahead in range(3)] == ["and", "a", "half"]:
            return _Number(place, end + 3, f"{_spelled(value)}.5")
        if self._next(end) != "point" or not self._next(end + 1):
            return None
        said = self._digits(end + 1)
        if said:
            return _Number(place, end + 1 + len(said), f"{_spelled(value)}.{said}")
        found = self._below_hundred(end + 1)
        return None if found is None else _Number(place, found[1], f"{_spelled(value)}.{found[0]}")

    def _scaled(self, place: int, first: _Group, *, may_add: bool) -> _Number | None:
        """A number with thousands or more; "million" stays a word where nothing is added to it."""
        total, limit, group = 0, 10**15, first
        while True:
            scale = SCALE.get(self._next(group.end), 1)
            if scale >= limit:
                break  # "five thousand and six thousand" are two numbers
            total, limit, end = total + group.value * scale, scale, group.end + (scale > 1)
            following = self._rest(end, limit, may_add=may_add) if scale > 1 else None
            if following is None:
                break
            group = following
            if group.is_ordinal:
                return _Number(place, group.end, _nth(total + group.value))
        is_plain = total == first.value * limit
        if limit == THOUSAND or not is_plain:
            plain = (total, limit) if is_plain else ()
            return self._fraction(place, total, end) or _Number(place, end, _spelled(total), *plain)
        return None

    def _rest(self, place: int, scale: int, *, may_add: bool) -> _Group | None:
        """What is added to thousands or more: small numbers only to thousands, and not behind a comma."""
        is_and = self._next(place) == "and"
        is_small = scale == THOUSAND
        if is_and:
            place += 1
        elif self._comma(place):
            is_small = False
        if (is_and and not may_add) or not (self._next(place) or self._comma(place)):
            return None
        group = self._group(place, may_add=may_add)
        is_large = group is not None and (group.value >= 100 or self._next(group.end) in SCALE)
        return group if is_small or is_large else None

    def _link(self, left: _Number, right: _Number) -> str:
        """What links two numbers: one of the words for it, a comma, or nothing."""
        if right.start == left.end:
            return "," if self._comma(right.start) else ""
        if right.start > left.end + 1 or not self._next(right.start):
            return ""
        link = self._next(left.end)
        return link if link in LINKS else ""


def _linked(numbers: list[_Number], links: list[str]) -> list[_Number]:
    """The numbers, with small ones in digits where they are linked to digits.

    In "ten or fifteen thousand" both are thousands.
    """
    for turn in (1, -1):
        for place in range(len(links))[::turn]:
            this, other = (place + 1, place) if turn > 0 else (place, place + 1)
            # "In 1455, two people", and "fifteen and one of them".
            is_free = links[place] == "," and not numbers[other].value
            is_free |= numbers[this].value == 1 and links[place] not in ("to", "through")
            if links[place] and not numbers[other].is_word and not is_free:
                numbers[this] = numbers[this]._replace(is_word=False)
    for place, link in enumerate(links):
        left, right = numbers[place], numbers[place + 1]
        units = right.value // right.scale if right.scale else 0
        if link in ("to", "or") and right.scale > 1 and 0 < left.value < units:
            # "Five to six hundred thousand" are hundreds of thousands.
            value = left.value * right.scale * (100 if left.value < 10 and units % 100 == 0 else 1)
            numbers[place] = left._replace(written=_spelled(value), is_word=False)
    return numbers


def _spelled(value: int) -> str:
    """A number in digits, with commas from 10,000 on."""
    return f"{value:,}" if value >= 10_000 else str(value)


def _nth(value: int) -> str:
    endings = {1: "st", 2: "nd", 3: "rd"}
    return _spelled(value) + ("th" if value // 10 % 10 == 1 else endings.get(value % 10, "th"))
