"""What differs between languages: names, tokenizers, line lengths."""

import re
from typing import NamedTuple, Self

from operators.errors import UsageError, nearest


class Language(NamedTuple):
    """A language that captions can be written in."""

    #: English name, as prompts and the command line spell it.
    name: str
    #: ISO 639-1 code.
    code: str
    #: sacrebleu's tokenizer that needs no download.
    tokenizer: str = "13a"
    #: Columns of a caption line; a wide character takes two.
    columns: int = 42
    #: The separator between two sentences.
    joint: str = " "
    #: Whether it is written from right to left.
    is_rtl: bool = False
    #: Unicode scripts that it is written in.
    scripts: tuple[str, ...] = ("Latin",)


_KNOWN = [
    Language("Arabic", "ar", is_rtl=True, scripts=("Arabic",)),
    Language("Chinese", "zh", "zh", 30, "", scripts=("Han", "Bopomofo")),
    Language("Czech", "cs"),
    Language("Danish", "da"),
    Language("Dutch", "nl"),
    Language("English", "en"),
    Language("Finnish", "fi"),
    Language("French", "fr"),
    Language("German", "de"),
    Language("Greek", "el", scripts=("Greek",)),
    Language("Hebrew", "he", is_rtl=True, scripts=("Hebrew",)),
    Language("Hindi", "hi", scripts=("Devanagari",)),
    Language("Hungarian", "hu"),
    Language("Italian", "it"),
    Language("Japanese", "ja", "ja-mecab", 30, "", scripts=("Han", "Hiragana", "Katakana")),
    Language("Korean", "ko", "char", scripts=("Hangul", "Han")),
    Language("Norwegian", "no"),
    Language("Polish", "pl"),
    Language("Portuguese", "pt"),
    Language("Romanian", "ro"),
    Language("Russian", "ru", scripts=("Cyrillic",)),
    Language("Spanish", "es"),
    Language("Swedish", "sv"),
    Language("Turkish", "tr"),
    Language("Ukrainian", "uk", scripts=("Cyrillic",)),
    Language("Vietnamese", "vi"),
]


#: Names in the languages themselves, and other names in English.
_OTHER_NAMES = {
    "ar": ("العربية",),
    "zh": (
        "中文",
        "Mandarin",
        "Hanyu",
    ),
    "cs": ("Čeština",),
    "da": ("Dansk",),
    "nl": (
        "Nederlands",
        "Flemish",
    ),
    "fi": ("Suomi",),
    "fr": ("Français",),
    "de": ("Deutsch",),
    "el": ("Ελληνικά",),
    "he": (
        "עברית",
        "iw",
    ),
    "hi": ("हिन्दी",),
    "hu": ("Magyar",),
    "it": ("Italiano",),
    "ja": ("日本語",),
    "ko": ("한국어",),
    "no": (
        "Norsk",
        "nb",
        "nn",
        "Bokmål",
        "Nynorsk",
    ),
    "pl": ("Polski",),
    "pt": ("Português",),
    "ro": ("Română",),
    "ru": ("Русский",),
    "es": (
        "Español",
        "Castilian",
        "Castellano",
    ),
    "sv": ("Svenska",),
    "tr": ("Türkçe",),
    "uk": ("Українська",),
    "vi": ("Tiếng Việt",),
}
# ``de-DE`` and ``zh_Hans_CN`` are German and Chinese: what follows the code is a script or a region.
_REGION = re.compile(r"([a-z]{2})[-_][a-z0-9_-]+", re.ASCII)


def language(name: str) -> Language:
    """Find a language by its English name, its own name or its code (``de``, ``de-AT``), in any case.

    Raises `UsageError` for an unknown language.
    """
    wanted = name.strip().casefold()
    tag = _REGION.fullmatch(wanted)
    found = _BY_NAME.get(tag[1] if tag else wanted)
    if found is not None:
        return found
    meant = nearest(wanted, _BY_NAME)
    names = ", ".join(known.name for known in _KNOWN)
    what_to_do = f"choose one of {names}" if meant is None else f"did you mean {_BY_NAME[meant].name}?"
    raise UsageError(f"{name!r} is not a language that surtitle knows; {what_to_do}")


def is_language(name: str) -> bool:
    """Whether `language` knows this name."""
    try:
        language(name)
    except UsageError:
        return False
    return True


def _by_name() -> dict[str, Language]:
    """All languages by all of their names and codes, in lower case."""
    return {
        name.casefold(): known
        for known in _KNOWN
        for name in (known.name, known.code, *_OTHER_NAMES.get(known.code, ()))
    }


_BY_NAME = _by_name()


class Direction(NamedTuple):
    """The source and target language."""

    source: Language
    target: Language

    @classmethod
    def of(cls, source: str, target: str) -> Self:
        """The direction between two languages, by name or code. Raises `UsageError` for an unknown one."""
        return cls(language(source), language(target))

    @property
    def translates(self) -> bool:
        """Whether captions are in another language than the speech."""
        return self.source != self.target

    @property
    def code(self) -> str:
        """Both languages' codes, such as ``en-de``."""
        return f"{self.source.code}-{self.target.code}"

    def __str__(self) -> str:
        return f"{self.source.name} to {self.target.name}"
