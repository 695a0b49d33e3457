"""Properties of languages: names, codes and scripts, and those that depend on the script.

Names are those of Unicode's CLDR, in ``languages.tsv``.
"""

import re
from collections.abc import Sequence
from importlib.resources import files
from typing import NamedTuple, Self

from operators.errors import UsageError, nearest
from operators.extras import EXTRAS, missing

#: Marks at the end of a sentence, in all scripts.
SENTENCE_MARKS = ".!?…。！？．؟۔।॥။།។։"


class Script(NamedTuple):
    """Properties that all languages of a script share."""

    #: The name of sacrebleu's tokenizer, among those that need no download.
    tokenizer: str = "13a"
    #: Whether spaces separate words.
    is_spaced: bool = True
    #: The text between two sentences.
    joint: str = " "
    is_rtl: bool = False
    #: Whether a mark ends a sentence.
    has_marks: bool = True
    #: Columns of a caption line; a wide character takes two.
    columns: int = 42
    #: Columns that viewers read in a second: 17 characters, but 12 in Korean, 9 in Chinese and 4 in Japanese
    #: (Netflix, Timed Text Style Guides).
    reading_speed: int = 17


_PLAIN, _KANA = Script(), Script("ja-mecab", False, "", columns=30, reading_speed=8)
#: The scripts that differ from Latin.
SCRIPTS = {
    "Han": Script("zh", False, "", columns=30, reading_speed=18),
    "Hiragana": _KANA,
    "Katakana": _KANA,
    "Hangul": Script("char", columns=32, reading_speed=24),
    "Thai": Script("char", False, has_marks=False),
    "Lao": Script("char", False, has_marks=False),
    "Khmer": Script("char", False),
    "Myanmar": Script("char", False),
    "Tibetan": Script("char", False),
    "Arabic": Script(is_rtl=True),
    "Hebrew": Script(is_rtl=True),
}
#: Content of a regular expression's character class: the scripts without spaces between words.
UNSPACED = "".join(rf"\p{{{name}}}" for name, one in SCRIPTS.items() if not one.is_spaced)

# Languages with a two-letter code, and their ISO 639-2 codes: the terminological one and, where it differs,
# the bibliographic one. Other languages have only a three-letter code.
_CODES = """
af:afr sq:sqi:alb am:amh ar:ara an:arg hy:hye:arm as:asm az:aze ba:bak eu:eus:baq be:bel bn:ben bs:bos
br:bre bg:bul my:mya:bur ca:cat zh:zho:chi hr:hrv cs:ces:cze da:dan nl:nld:dut en:eng eo:epo et:est fo:fao
fi:fin fr:fra:fre gl:glg ka:kat:geo de:deu:ger el:ell:gre gu:guj ht:hat ha:hau he:heb hi:hin hu:hun
is:isl:ice ig:ibo id:ind ga:gle it:ita ja:jpn jv:jav kn:kan kk:kaz km:khm rw:kin ko:kor ku:kur ky:kir lo:lao
lv:lav lt:lit lb:ltz mk:mkd:mac mg:mlg ms:msa:may ml:mal mt:mlt mr:mar mn:mon mi:mri:mao ne:nep no:nor
nn:nno oc:oci or:ori ps:pus fa:fas:per pl:pol pt:por pa:pan ro:ron:rum ru:rus gd:gla sr:srp sd:snd si:sin
sk:slk:slo sl:slv so:som es:spa su:sun sw:swa sv:swe tg:tgk ta:tam tt:tat te:tel th:tha bo:bod:tib ti:tir
tr:tur tk:tuk uk:ukr ur:urd ug:uig uz:uzb vi:vie cy:cym:wel wo:wol xh:xho yi:yid yo:yor zu:zul
"""
_THREE = {two: three for two, *three in (codes.split(":") for codes in _CODES.split())}


class Language(NamedTuple):
    """A language that captions can be written in."""

    #: English name, as prompts and the command line spell it.
    name: str
    #: ISO 639 code, of two letters where it has one; ``zh-Hant`` for Chinese in the traditional script, and
    #: ``pt-BR`` for the Portuguese of Brazil.
    code: str
    #: Unicode scripts that it is written in, the most common one first.
    scripts: tuple[str, ...] = ("Latin",)
    #: Chinese name, for the prompts of some Chinese models.
    chinese: str = ""
    #: Name in the language itself; empty if CLDR does not have it.
    own: str = ""
    #: Further names that people type.
    others: tuple[str, ...] = ()
    #: The word before the number of an unnamed voice (*Speaker*); empty for the English word.
    speaker: str = ""

    @property
    def script(self) -> Script:
        """The properties of its script; kana distinguishes Japanese from Chinese."""
        return SCRIPTS.get("Katakana" if "Katakana" in self.scripts else self.scripts[0], _PLAIN)

    @property
    def tokenizer(self) -> str:
        """The name of sacrebleu's tokenizer for it, among those that are installed."""
        given = self.script.tokenizer
        return "char" if given == "ja-mecab" and missing(EXTRAS["bench"]) else given

    @property
    def general(self) -> "Language":
        """The language without a region, as most models name it: Portuguese for that of Brazil."""
        return _BY_NAME[self.base] if _OF_REGION.fullmatch(self.code) else self

    @property
    def base(self) -> str:
        """Its code without a script or region: speech has no script, and recognisers ignore regions."""
        return self.code.partition("-")[0]

    @property
    def three(self) -> str:
        """Its code in sound and video files (ISO 639-2, terminological)."""
        return _THREE.get(self.base, [self.base])[0]


def _read() -> list[Language]:
    lines = (files("operators") / "languages.tsv").read_text("utf-8").splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return [
        Language(
            name, code, tuple(scripts.split(",")), chinese, own, tuple(filter(None, others.split(","))), who
        )
        for code, name, chinese, own, scripts, others, who in rows
    ]


#: All languages, by their English names.
LANGUAGES = _read()
# ``de-DE`` and ``zh_Hans_CN`` are German and Chinese: the code is followed by a script or a region. Regions
# that are languages of the table, such as ``pt-BR``, are looked up before.
_REGION = re.compile(r"([a-z]{2,3})[-_][a-z0-9_-]+", re.ASCII)
_OF_REGION = re.compile(r"[a-z]+-[A-Z]{2}", re.ASCII)
_TRADITIONAL = re.compile(r"zh[-_](?:hant|tw|hk|mo)\b.*", re.ASCII)
_BY_NAME = {
    name.casefold(): known
    for known in LANGUAGES
    for name in (known.name, known.code, known.own, *known.others)
    if name
}
# Kept apart from the names among which similar ones are suggested for a typing error.
_BY_THREE = {three: _BY_NAME[two] for two, codes in _THREE.items() if two in _BY_NAME for three in codes}


def language(name: str) -> Language:
    """Find a language by its English name, its own name or its code (``de``, ``deu``, ``de-AT``, ``pt-BR``).

    Raises `UsageError` for an unknown language.
    """
    wanted = name.strip().casefold()
    tag = _REGION.fullmatch(wanted)
    code = "zh-hant" if _TRADITIONAL.fullmatch(wanted) else tag[1] if tag else wanted
    found = _BY_NAME.get(wanted.replace("_", "-")) or _BY_NAME.get(code) or _BY_THREE.get(code)
    if found is not None:
        return found
    meant = nearest(wanted, _BY_NAME)
    what_to_do = (
        "give the English name of a language, or its code, such as German or de"
        if meant is None
        else f"did you mean {_BY_NAME[meant].name}?"
    )
    raise UsageError(f"{name!r} is not a language that surtitle knows; {what_to_do}")


def is_language(name: str) -> bool:
    try:
        language(name)
    except UsageError:
        return False
    return True


#: The pivot language.
ENGLISH = language("English")


class Direction(NamedTuple):
    source: Language
    target: Language

    @classmethod
    def of(cls, source: str, target: str) -> Self:
        """The direction between two languages, by name or code. Raises `UsageError` for an unknown one."""
        return cls(language(source), language(target))

    @property
    def translates(self) -> bool:
        """Whether the languages differ other than by region (European and Brazilian Portuguese do not)."""
        return self.source.general != self.target.general

    @property
    def general(self) -> "Direction":
        """The direction without regions, as models name it."""
        return Direction(self.source.general, self.target.general)

    @property
    def code(self) -> str:
        return f"{self.source.code}-{self.target.code}"

    def __str__(self) -> str:
        return f"{self.source.name} to {self.target.name}"


def direction_among(directions: Sequence[Direction], spoken: str, written: str) -> Direction:
    """The direction from the language with the code ``spoken`` to the one with the code ``written``.

    An empty or unknown code stands for the language of the first of ``directions``. A recogniser or a file
    of captions may name a language that is in none of them.
    """
    first = directions[0]
    return Direction(
        language(spoken) if is_language(spoken) else first.source,
        language(written) if is_language(written) else first.target,
    )
