"""Writes spelled-out English numbers in digits, as a copy editor would (inverse text normalisation).

Recognisers write "fourteen, sixty five". A small translation model changes such numbers, but keeps digits.
With the following rules the models for captions keep most figures. Numbers from ten on are in digits, also
ordinals. Smaller numbers stay words unless they belong to a measure or to a number in digits. Percent and
dollars stay words. 4 digits have no comma, whether they are a year or a count.

Pure, and linear in the length of the text.
"""

import re
from itertools import pairwise
from typing import NamedTuple

from operators.languages import Language
from operators.sentences import number_words as words

_WORD = re.compile(r"\w+")
_JOINT = re.compile(r"\s+|\s?[-‐‑]\s?")
_COMMA = re.compile(r",\s+")
_HYPHENS = frozenset("-‐‑")
# After a hyphen these are no measure, but "thirty-second" may be one.
_NUMBERS = (words.STARTS | words.DECADE.keys()) - {"second"}


def digits(text: str, language: Language) -> str:
    """The text with its spelled-out numbers in digits; text in other languages than English is unchanged.

    When a text grows, only its last number and those linked to it ("five or fifteen") change: "sixty" is
    ``60``, then "sixty two" is ``62``. Idempotent.
    """
    if language.code != "en":
        return text
    return _Words(words.clock_times(text)).rewritten()


class _Number(NamedTuple):
    """A number in the text: its first word, the word after it, and its spelling."""

    start: int
    end: int
    written: str
    #: The value of a plain cardinal; 0 for other numbers.
    value: int = 0
    #: 100 or 1000 if the words are a smaller number and "hundred" or "thousand".
    scale: int = 1
    #: Whether it stays a word unless it is linked to a number in digits.
    is_word: bool = False


class _Group(NamedTuple):
    """A number below 10,000, and the word after it."""

    value: int
    end: int
    scale: int = 1
    is_ordinal: bool = False


class _Words:
    """The words of a text, and the numbers that they spell."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._spans = [match.span() for match in _WORD.finditer(text)]
        # Rules look ahead at most four words.
        self._words = [*(text[start:end].lower() for start, end in self._spans), *[""] * 4]
        between = [text[end:start] for (_, end), (start, _) in pairwise(self._spans)]
        #: The text between each word and the one before it.
        self._gaps = [".", *between, *["."] * 4]
        #: Each word if a space or a hyphen joins it to the one before it; otherwise an empty string.
        self._next = [
            word if _JOINT.fullmatch(gap) else "" for word, gap in zip(self._words, self._gaps, strict=False)
        ]

    def rewritten(self) -> str:
        numbers = self._numbers()
        links = [self._link(left, right) for left, right in pairwise(numbers)]
        parts: list[str] = []
        place = 0
        for number in _linked(numbers, links):
            if not number.is_word:
                parts += self._text[place : self._spans[number.start][0]], number.written
                place = self._spans[number.end - 1][1]
        return "".join(parts) + self._text[place:]

    def _numbers(self) -> list[_Number]:
        numbers: list[_Number] = []
        place = 0
        while place < len(self._spans):
            is_listed = bool(numbers) and numbers[-1].end == place and self._comma(place)
            number = self._number(place, is_listed=is_listed)
            if number is not None and number.written:
                numbers.append(number)
            place = place + 1 if number is None else number.end
        return numbers

    def _comma(self, place: int) -> bool:
        return _COMMA.fullmatch(self._gaps[place]) is not None

    def _previous(self, place: int) -> str:
        return self._words[place - 1] if self._next[place] else ""

    def _number(self, place: int, *, is_listed: bool) -> _Number | None:
        word = self._words[place]
        if word in words.DECADE:
            return _Number(place, place + 1, f"{words.DECADE[word]}s")
        if word not in words.STARTS:
            return None
        return (
            self._ordinal(place)
            or self._time(place)
            or self._digit_by_digit(place)
            or self._year(place, is_listed=is_listed)
            or self._cardinal(place)
        )

    def _ordinal(self, place: int) -> _Number | None:
        """The twenty-first; a small ordinal such as the fourth only with a month."""
        found = self._small_ordinal(place)
        if found is None:
            return None
        value, end = found
        is_of = self._next[end] == "of"
        if value < 10:
            after = end + is_of
            is_written = self._is_month(place - 1, place) or self._is_month(after, after)
        else:
            # "A fifteenth of it" is a fraction.
            is_written = not is_of or self._previous(place) not in ("a", "an", *words.UNIT)
        return _Number(place, end, _nth(value) if is_written else "")

    def _is_month(self, place: int, joint: int) -> bool:
        """Whether this word, joined at ``joint``, is a month; "may" is not."""
        return self._next[joint] != "" and self._text[slice(*self._spans[place])] in words.MONTHS

    def _small_ordinal(self, place: int) -> tuple[int, int] | None:
        word, following = self._words[place], self._next[place + 1]
        if word in words.TENS and following in words.UNIT_ORDINAL:
            is_time = (
                following == "second"
                and (self._gaps[place + 1].isspace() or self._previous(place) in ("a", *words.CARDINAL))
                and self._next[place + 2] not in words.AFTER_SECOND
                and not self._is_month(place - 1, place)
            )
            return None if is_time else (words.TENS[word] + words.UNIT_ORDINAL[following], place + 2)
        value = words.ORDINAL.get(word)
        return None if value is None else (value, place + 1)

    def _digit_by_digit(self, place: int) -> _Number | None:
        """Five five five one: four digits, or three with a zero among them."""
        said = self._digits(place)
        following = self._next[place + len(said)]
        is_number = (len(said) == 3 and said[1] == "0") or len(said) > 3
        if not is_number or following.isdigit() or following in ("point", "hundred", *words.SCALE):
            return None
        return _Number(place, place + len(said), said)

    def _digits(self, place: int) -> str:
        said = ""
        while (self._next[place] if said else self._words[place]) in words.DIGIT:
            said += str(words.DIGIT[self._words[place]])
            place += 1
            if len(said) == words.MAX_DIGITS:
                break
        return said

    def _below_hundred(self, place: int) -> tuple[int, int] | None:
        word = self._words[place]
        unit = words.UNIT.get(self._next[place + 1]) if word in words.TENS else None
        if unit is not None:
            return words.TENS[word] + unit, place + 2
        return (words.CARDINAL[word], place + 1) if word in words.CARDINAL else None

    def _two_digits(self, place: int) -> tuple[int, int] | None:
        """The second half of a year or a time: fifty-five, ten, oh five."""
        if self._words[place] in ("oh", "o") and self._next[place + 1] in words.UNIT:
            return words.UNIT[self._words[place + 1]], place + 2
        found = self._below_hundred(place)
        if found is None or found[0] < 10 or self._next[found[1]] in ("hundred", *words.SCALE):
            return None
        return found

    def _time(self, place: int) -> _Number | None:
        """At three thirty, nine oh five; other pairs of a small number and a larger one stay words."""
        hour = words.UNIT.get(self._words[place]) or words.TEEN.get(self._words[place], 13)
        minute = self._two_digits(place + 1) if hour <= 12 and self._next[place + 1] else None
        if minute is None:
            return None
        value, end = minute
        before, after = self._previous(place), self._next[end]
        is_cued = before in words.BEFORE_TIME or after in words.AFTER_TIME
        # "Four oh four" is a code.
        is_oh = value < 10 and value != hour and before not in words.BEFORE_CODE
        is_usual = (is_oh or (hour >= 10 and value % 5 == 0)) and before not in words.BEFORE_YEAR
        is_spelled = value < 10 and (after in words.DIGIT or after.isdigit())
        is_count = is_spelled or (before != "at" and self._is_plural(end)) or self._is_counted(end)
        if value < 60 and not is_count and (is_cued or is_usual):
            return _Number(place, end, f"{hour}:{value:02}")
        is_pair = hour < 10 <= value and not self._is_compound(end)
        return _Number(place, end, "") if is_pair else None

    def _is_counted(self, place: int) -> bool:
        """Whether a number before this word counts or measures: "people", "-page"."""
        return self._next[place] in words.COUNTED or self._is_compound(place)

    def _is_compound(self, place: int) -> bool:
        """Whether a hyphen joins this word to the one before it, and it is not a number: "forty-foot"."""
        word = self._words[place]
        return self._gaps[place] in _HYPHENS and word.isalpha() and word not in _NUMBERS

    def _is_plural(self, place: int) -> bool:
        """Whether this is most likely the plural of a noun: "students"."""
        word = self._next[place]
        is_other = word in words.NO_PLURALS or word.endswith(("ss", "us", "is"))
        return word[3:].endswith("s") and not is_other and self._text[self._spans[place][0]].islower()

    def _year(self, place: int, *, is_listed: bool) -> _Number | None:
        """Fourteen fifty-five, also with a comma; nineteen oh five; the eighteen sixties."""
        century = words.TEEN.get(self._words[place]) or (20 if self._words[place] == "twenty" else 0)
        following, is_apart = self._next[place + 1], self._comma(place + 1)
        if not century or not (following or is_apart):
            return None
        if following in words.DECADE or following == "hundreds":
            return _Number(place, place + 2, f"{century}{words.DECADE.get(following, '00')}s")
        found = self._two_digits(place + 1)
        if found is None or self._is_counted(found[1]):
            return None
        value, end = found
        before = self._previous(place)
        is_cued = before in words.BEFORE_YEAR
        if century <= 12 and before != "in" and self._is_plural(end):
            return None
        if is_apart:
            is_alone = not is_listed and century > 12 and value != century + 1
            is_plain = (value % 10 or value >= 40) and not self._goes_on(end)
            ends = not self._next[end] or self._next[end] in words.AFTER_YEAR or before == "the"
            is_year = is_alone and ends and (is_cued or is_plain)
        else:
            is_year = is_cued or (value != century + 1 if century < 20 else value < 30)
        return _Number(place, end, f"{century}{value:02}") if is_year else None

    def _goes_on(self, place: int) -> bool:
        is_linked = self._next[place] in ("or", "and")
        return (is_linked or self._comma(place)) and self._words[place + is_linked] in words.CARDINAL

    def _group(self, place: int, *, may_add: bool) -> _Group | None:
        """A number below 100, or with one hundred: eighteen hundred and three."""
        found = self._before_hundred(place)
        if found is None:
            return None
        value, end = found
        if self._words[end] != "hundred" or not (end == place or self._next[end]):
            return _Group(value, end)
        hundreds = _Group(100 * value, end + 1, 100)
        is_and = self._next[end + 1] == "and"
        after = end + 1 + is_and
        if not self._next[after] or (is_and and not may_add and self._next[after + 1] != "and"):
            return hundreds
        ordinal = self._small_ordinal(after)
        rest = ordinal or self._below_hundred(after)
        if rest is None or (ordinal is None and self._next[rest[1]] == "hundred"):
            return hundreds
        return _Group(hundreds.value + rest[0], rest[1], is_ordinal=ordinal is not None)

    def _before_hundred(self, place: int) -> tuple[int, int] | None:
        """A number below 100; "a" hundred; or nothing, in "the hundred and fifty"."""
        word, following = self._words[place], self._next[place + 1]
        if word == "a":
            return (1, place + 1) if following in ("hundred", "thousand") else None
        if word == "hundred":
            is_number = following == "and" and self._next[place + 2] in words.CARDINAL | words.ORDINAL
            return (1, place) if is_number and self._previous(place) in ("", "the") else None
        return self._below_hundred(place)

    def _cardinal(self, place: int) -> _Number | None:
        """Three hundred and seventy thousand; three point five; two and a half; hundred and first."""
        if self._words[place] == "a" and self._previous(place) == "half":
            return None
        if self._words[place] in words.ZERO:
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
        measure = self._next[group.end + (self._next[group.end] == "per")]
        is_word = group.value < 10 and measure not in words.MEASURES
        return _Number(place, group.end, _spelled(group.value), group.value, group.scale, is_word)

    def _fraction(self, place: int, value: int, end: int) -> _Number | None:
        """Three point five, three point twenty-two, three and a half."""
        if [self._next[end + ahead] for ahead in range(3)] == ["and", "a", "half"]:
            return _Number(place, end + 3, f"{_spelled(value)}.5")
        if self._next[end] != "point" or not self._next[end + 1]:
            return None
        said = self._digits(end + 1)
        found = (said, end + 1 + len(said)) if said else self._below_hundred(end + 1)
        return None if found is None else _Number(place, found[1], f"{_spelled(value)}.{found[0]}")

    def _scaled(self, place: int, first: _Group, *, may_add: bool) -> _Number | None:
        """A number with thousands or more; "million" stays a word if nothing is added to it."""
        total, limit, group = 0, 10**15, first
        # "Five thousand and six thousand" are two numbers.
        while (scale := words.SCALE.get(self._next[group.end], 1)) < limit:
            total, limit, end = total + group.value * scale, scale, group.end + (scale > 1)
            following = self._rest(end, limit, may_add=may_add) if scale > 1 else None
            if following is None:
                break
            group = following
            if group.is_ordinal:
                return _Number(place, group.end, _nth(total + group.value))
        is_plain = total == first.value * limit
        if is_plain and limit != words.THOUSAND:
            return None
        plain = (total, limit) if is_plain else ()
        return self._fraction(place, total, end) or _Number(place, end, _spelled(total), *plain)

    def _rest(self, place: int, scale: int, *, may_add: bool) -> _Group | None:
        """The number added to thousands or more; a small one only to thousands, and not after a comma."""
        is_and = self._next[place] == "and"
        is_small = scale == words.THOUSAND and (is_and or not self._comma(place))
        place += is_and
        if (is_and and not may_add) or not (self._next[place] or self._comma(place)):
            return None
        group = self._group(place, may_add=may_add)
        is_large = group is not None and (group.value >= 100 or self._next[group.end] in words.SCALE)
        return group if is_small or is_large else None

    def _link(self, left: _Number, right: _Number) -> str:
        """The link between two numbers: one of `words.LINKS`, a comma, or nothing."""
        if right.start == left.end:
            return "," if self._comma(right.start) else ""
        is_linked = right.start == left.end + 1 and self._next[right.start] and self._next[left.end]
        return self._words[left.end] if is_linked and self._words[left.end] in words.LINKS else ""


def _linked(numbers: list[_Number], links: list[str]) -> list[_Number]:
    """The numbers, with small ones in digits if they are linked to digits.

    In "ten or fifteen thousand" both are thousands.
    """
    forth = [(place, place + 1, link) for place, link in enumerate(links)]
    back = [(place + 1, place, link) for place, link in reversed([*enumerate(links)])]
    for other, this, link in forth + back:
        # "In 1455, two people", and "fifteen and one of them".
        is_free = link == "," and not numbers[other].value
        is_free |= numbers[this].value == 1 and link not in ("to", "through")
        if link and not numbers[other].is_word and not is_free:
            numbers[this] = numbers[this]._replace(is_word=False)
    for place, link in enumerate(links):
        left, right = numbers[place], numbers[place + 1]
        units = right.value // right.scale
        if link in ("to", "or") and right.scale > 1 and 0 < left.value < units:
            # "Five to six hundred thousand" are hundreds of thousands.
            value = left.value * right.scale * (100 if left.value < 10 and units % 100 == 0 else 1)
            numbers[place] = left._replace(written=_spelled(value), is_word=False)
    return numbers


def _spelled(value: int) -> str:
    return f"{value:,}" if value >= 10_000 else str(value)


def _nth(value: int) -> str:
    endings = {1: "st", 2: "nd", 3: "rd"}
    return _spelled(value) + ("th" if value // 10 % 10 == 1 else endings.get(value % 10, "th"))
