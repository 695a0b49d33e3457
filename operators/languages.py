"""What differs between languages: names, tokenizers, line lengths."""

from typing import NamedTuple, Self

from operators.errors import UsageError


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


def language(name: str) -> Language:
    """Find a language by its English name or its code, case-insensitively.

    Raises `UsageError` for an unknown language.
    """
    wanted = name.strip().lower()
    for known in _KNOWN:
        if wanted in (known.name.lower(), known.code):
            return known
    names = ", ".join(known.name for known in _KNOWN)
    raise UsageError(f"{name!r} is not a language that surtitle knows; choose one of {names}")


class Direction(NamedTuple):
    """The source and target language."""

    source: Language
    target: Language

    @classmethod
    def of(cls, source: str, target: str) -> Self:
        """The direction between two languages, by name or code. Raises `UsageError` for an unknown one."""
        return cls(language(source), language(target))

    @property
    def code(self) -> str:
        """Both languages' codes, such as ``en-de``."""
        return f"{self.source.code}-{self.target.code}"

    def __str__(self) -> str:
        return f"{self.source.name} to {self.target.name}"
