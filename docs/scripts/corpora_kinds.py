"""How a source of parallel text is described: its packages, how their files pair up, its licence.

In names and paths ``{code}`` stands for the language (``de``, ``zh``), ``{locale}`` for its gettext name
(``de``, ``zh_CN``), ``{tag}`` for it in package names (``de``, ``zh-cn``), and ``{region}`` for it with its
country (``de-DE``, ``zh-CN``), ``{short}`` for it with its country where needed (``de``, ``zh-CN``).
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from corpora_read import Pair, catalogue, catalogue_source, catalogue_text, word_list
from corpora_tables import qt_catalogue


@dataclass(frozen=True)
class Language:
    """The names of one language in packages."""

    code: str
    locale: str
    tag: str
    region: str
    short: str

    def fill(self, template: str) -> str:
        """``template`` with this language's names in it."""
        return template.format(
            code=self.code, locale=self.locale, tag=self.tag, region=self.region, short=self.short
        )


LANGUAGES = {
    "de": Language("de", "de", "de", "de-DE", "de"),
    "fr": Language("fr", "fr", "fr", "fr-FR", "fr"),
    "es": Language("es", "es", "es", "es-ES", "es"),
    "ja": Language("ja", "ja", "ja", "ja-JP", "ja"),
    "zh": Language("zh", "zh_CN", "zh-cn", "zh-CN", "zh-CN"),
}

CATALOGUES = {".mo": catalogue, ".po": catalogue_source, ".qm": qt_catalogue}

Reader = Callable[[Path, Language], Iterator[Pair]]


@dataclass(frozen=True)
class Source:
    """One corpus: its packages, how their files are read, and the licence of the text.

    ``keeps`` is ``sentences``, ``phrases`` (two words or more), ``words`` or ``labels`` (phrases and words).
    """

    name: str
    packages: tuple[str, ...]
    read: Reader
    licence: str
    keeps: str = "sentences"
    languages: frozenset[str] = frozenset(LANGUAGES)


def catalogues(*patterns: str) -> Reader:
    """Gettext catalogues, compiled or not, under the folder of packages."""

    def read(folder: Path, language: Language) -> Iterator[Pair]:
        for pattern in patterns:
            for path in sorted(folder.glob(language.fill(pattern))):
                yield from CATALOGUES[path.suffix](path)

    return read


def files(kind: Callable[[Path, Path], Iterator[Pair]], pattern: str, *, english: str, other: str) -> Reader:
    """English files, read with those whose path has the parts in ``other`` for those in ``english``."""
    replaced = list(zip(english.split(), other.split(), strict=True))

    def read(folder: Path, language: Language) -> Iterator[Pair]:
        for path in sorted(folder.glob(pattern)):
            name = str(path.relative_to(folder))
            for part, template in replaced:
                name = name.replace(part, language.fill(template))
            if (folder / name).exists():
                yield from kind(path, folder / name)

    return read


def zipped(archive: str, pattern: str) -> Reader:
    """Gettext sources in a ZIP archive."""

    def read(folder: Path, language: Language) -> Iterator[Pair]:
        for path in folder.glob(archive):
            with zipfile.ZipFile(path) as opened:
                for name in sorted(opened.namelist()):
                    if Path(name).match(language.fill(pattern)):
                        yield from catalogue_text(opened.read(name).decode("utf-8", "replace"))

    return read


def ding(folder: Path, _language: Language) -> Iterator[Pair]:
    """The word list of TU Chemnitz."""
    return word_list(folder / "trans-de-en/usr/share/trans/de-en")


def no_files(_folder: Path, _language: Language) -> Iterator[Pair]:
    """Nothing: the descriptions come from the archive's indexes, not from a package."""
    return iter(())
