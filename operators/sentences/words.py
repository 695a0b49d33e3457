"""Words at a boundary: punctuation, the first and the last word, and the function words of a language."""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec
import regex

#: Marks that may end a sentence but that a recogniser may write by mistake; reliable ends; and other marks.
STOPS = ".。．…।॥۔።။។།։"
STRONG_STOPS = "?!？！؟"
COMMAS = ",;:—–،，、；："
# A mark may precede a closing quote or bracket. The search from the end takes linear time.
_END = regex.compile(r"(?r)([\p{P}\s]*)([\"'”’»)\]」』）]*)\Z")
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:['’.\-][\p{L}\p{M}\p{N}]+)*")


# A full stop before a small letter, and the word that it follows.
_INNER_STOP = regex.compile(r"(?<![\p{L}.])(\p{L}{2,})\.(?= \p{Ll})")
_ABBREVIATIONS = frozenset({
    "approx", "co", "corp", "dept", "dr", "est", "etc", "gen", "gov", "inc", "ltd", "mr", "mrs", "ms", "prof",
    "rev", "sen", "st", "vs",
})  # fmt: skip


def without_inner_stops(text: str) -> str:
    """The text with a comma for each full stop before a small letter, which marks only a pause."""

    def comma(found: regex.Match[str]) -> str:
        word: str = found[1]
        return found[0] if word.casefold() in _ABBREVIATIONS else f"{word},"

    return str(_INNER_STOP.sub(comma, text))


class SmallWords(NamedTuple):
    #: No sentence ends with these.
    open: frozenset[str]
    #: Sentences rarely end with these.
    rarely_last: frozenset[str]
    #: Sentences rarely begin with these.
    rarely_first: frozenset[str]
    #: Other words that have no capital within a sentence.
    small: frozenset[str]

    def is_small(self, word: str) -> bool:
        """Whether the word has no capital within a sentence, according to these lists."""
        return any(word.casefold() in words for words in self)


def _small(*groups: str) -> SmallWords:
    return SmallWords(*(frozenset(group.split()) for group in groups))


_NONE = _small("", "", "", "")
_SMALL_WORDS: Mapping[str, SmallWords] = {
    "en": _small(
        "a an the of and or but nor because which whose than my your our their its every into from if as",
        "to in on at by for with that who whom when while where is are was were be been being am will would "
        "can could should shall may might must have has had do does did not very about after before between "
        "through during without under upon against until his her this these those some any no each both "
        "either neither such like so what how whether although though since unless we he she they",
        "which whose whom than nor of to from into that who is are was were be been being has had have will "
        "would can could may might must shall should or by with as because until upon through during "
        "without under at for in on",
        "you it there now then well yes okay why all many most more one two three first let here just only "
        "also even us them me him",
    ),
    "de": _small(
        "der die das den dem des ein eine einen einem einer eines und oder aber sondern weil dass denn als "
        "von zum zur im am vom beim ins mein meine unser unsere ihre seine kein keine",
        "in mit für durch gegen ohne um bei nach seit aus über unter vor zwischen wenn ob wie zu sehr nicht "
        "ich wir er",
        "dass sondern weil oder als von mit zu deren dessen welche welcher welches ist sind war waren hat "
        "haben wird",
        "du es dies da so nun also ja nein hier dann was warum man mir mich uns euch dir ihm ihn auch nur "
        "noch schon viele alle einige jetzt heute",
    ),
    "fr": _small(
        "le la les un une des du de au aux et ou mais car que qui dont mon ma mes son sa ses notre nos leur "
        "leurs",
        "à en dans par pour sur avec sans sous entre vers chez si comme est sont était ne très ce cet cette "
        "ces je nous il",
        "dont que qui de du des ou est sont était a ont",
        "vous tu elle ils elles on c'est y donc alors oui non voici voilà tout tous toutes quand lorsque "
        "après avant aussi même",
    ),
    "es": _small(
        "el la los las un una unos unas de del al y e o u pero porque que cuyo mi mis su sus nuestro nuestra",
        "a en con por para sin sobre entre hasta desde si como es son era no muy este esta estos estas yo "
        "nosotros él",
        "cuyo cuya cuyos cuyas que de del o es son era ha han",
        "tú usted ella ellos esto eso así entonces bueno sí aquí se me te le nos les todo todos muchas "
        "muchos cuando después antes también sólo solo",
    ),
}


def small_words(code: str) -> SmallWords:
    """The function words of a language, by its code; none for a language that is not listed."""
    return _SMALL_WORDS.get(code, _NONE)


def words_of(text: str) -> list[str]:
    """The words of a text without their marks."""
    return _WORD.findall(text)


def parted(text: str) -> tuple[str, str, str]:
    """A text without the marks at its end, these marks, and the closing quotes or brackets after them."""
    text = text.rstrip()
    match = _END.search(text)
    assert match is not None, "every text has an end"
    return text[: match.start()].rstrip(), match[1].strip(), match[2]


#: Maximum number of words kept for a stream.
_MOST = 500


class Spellings(msgspec.Struct, array_like=True):
    """The last spelling of each word within a sentence; small enough for the snapshot of a stream."""

    #: Whether each word had a capital; the most recent words are last.
    is_capital: dict[str, bool] = {}

    def learn(self, text: str) -> None:
        """Learn from a final text of the recogniser; the first word of a sentence is ignored."""
        begins = True
        for word in text.split():
            bare, mark, _ = parted(word.lstrip("\"'“‘«(["))
            if not begins and bare[:1].isalpha():
                self.is_capital.pop(bare.casefold(), None)
                self.is_capital[bare.casefold()] = bare[:1].isupper()
            begins = any(one in STOPS + STRONG_STOPS for one in mark)
        while len(self.is_capital) > _MOST:
            del self.is_capital[next(iter(self.is_capital))]

    def is_large(self, word: str) -> bool | None:
        """Whether the word has a capital within sentences; None if unknown."""
        return self.is_capital.get(parted(word)[0].casefold())
