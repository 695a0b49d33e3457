"""Reads blocks of English with their translation: gettext catalogues, books, help pages, word lists …

A reader takes files and yields (English, translation); nothing is cleaned here.
"""

from __future__ import annotations

import ast
import gettext
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

Pair = tuple[str, str]
Blocks = list[tuple[str, str, str]]  # tag, anchor or nothing, text

PO_ENTRY = re.compile(
    r'^(#,[^\n]*\n(?:#[^\n]*\n)*)?(?:msgctxt[^\n]*\n(?:"[^\n]*\n)*)?'
    r'msgid ((?:"[^\n]*\n)+)msgstr ((?:"[^\n]*(?:\n|$))+)',
    re.MULTILINE,
)
CONTEXT = re.compile(r"^(?:[^\x04]*\x04)?(?:[\w .,:#-]{1,60}\^)?", re.DOTALL)
BREAK = re.compile(r"</?(?:p|br|html|head|body|qt|li|ul|ol)\b[^<>]*>|\\\\n(?=\s*—)", re.IGNORECASE)
BLOCKS = frozenset(
    ["div", "p", "li", "dt", "dd", "td", "th", "h1", "h2", "h3", "h4", "h5", "h6", "title", "caption"]
)
GROUPS = frozenset({"ul", "ol", "dl", "table"})
SILENT = frozenset(["script", "style", "pre", "head", "code", "tt", "kbd", "footer", "nav"])
ALTERNATIVES = re.compile(r"[\w.’'-]+(?:/[\w.’'-]+)+")
PRONOUNS = {
    "sb.": "somebody", "sth.": "something",
    "jd.": "jemand", "jdm.": "jemandem", "jdn.": "jemanden", "jds.": "jemandes", "etw.": "etwas",
}  # fmt: skip


def catalogue(path: Path) -> Iterator[Pair]:
    """The entries of a compiled gettext catalogue, without their contexts."""
    for source, translation in entries(path):
        yield from lines(CONTEXT.sub("", source), CONTEXT.sub("", translation))


def entries(path: Path) -> Iterator[Pair]:
    """Sources and translations of a compiled gettext catalogue; of plural forms the first."""
    with path.open("rb") as file:
        found = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    for entry, translation in found.items():
        source, form = entry if isinstance(entry, tuple) else (entry, 0)
        if source and translation and form == 0:
            yield source, translation


def catalogue_source(path: Path) -> Iterator[Pair]:
    """The entries of a gettext source (.po) that are not marked fuzzy."""
    return catalogue_text(path.read_text("utf-8", "replace"))


def catalogue_text(text: str) -> Iterator[Pair]:
    """The entries of a gettext source that are not marked fuzzy."""
    for flags, source, translation in PO_ENTRY.findall(text):
        if "fuzzy" not in flags:
            yield from lines(CONTEXT.sub("", _quoted(source)), CONTEXT.sub("", _quoted(translation)))


def _quoted(text: str) -> str:
    try:
        return "".join(str(ast.literal_eval(line)) for line in text.splitlines())
    except (SyntaxError, ValueError):
        return ""


def lines(english: str, other: str) -> Iterator[Pair]:
    """The paragraphs of two texts where they have equally many, else the texts."""
    ours, theirs = _paragraphs(english), _paragraphs(other)
    yield from zip(ours, theirs, strict=True) if len(ours) == len(theirs) else [(english, other)]


def _paragraphs(text: str) -> list[str]:
    text = BREAK.sub("\n\n", text)
    return [part for part in re.split(r"\n\s*\n|\n(?=\s*[*•‒–—-] )", text) if part.strip()]


def descriptions(english: str, other: str) -> Iterator[Pair]:
    """Paragraphs of package descriptions from the texts of two ``Translation-…`` indexes of one archive."""
    sources = _descriptions(english)
    for name, theirs in _descriptions(other).items():
        ours = sources.get(name, [])
        if len(ours) == len(theirs):
            yield from zip(ours[1:], theirs[1:], strict=True)


def _descriptions(index: str) -> dict[str, list[str]]:
    """By digest of the English description: its summary, then its paragraphs, without indented lists."""
    found: dict[str, list[str]] = {}
    for record in index.split("\n\n"):
        match = re.search(r"^Description-md5: (\w+)\nDescription-\w+: (.*)", record, re.MULTILINE | re.DOTALL)
        if match:
            body = match[2].split("\n .\n")
            first, _, rest = body[0].partition("\n")
            found[match[1]] = [first, *("" if "\n  " in "\n" + part else part for part in [rest, *body[1:]])]
    return found


class _Page(HTMLParser):
    """Collects the blocks of one page: its tag, the anchor before it and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: Blocks = []
        self._text: list[str] = []
        self._tag = ""
        self._anchor = ""
        self._silent: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open a block, or a stretch that holds no prose; an anchor is the next block's."""
        if tag in BLOCKS or tag in GROUPS:
            self._close()
            self._tag = tag if tag in BLOCKS else ""
        elif tag in SILENT:
            self._silent.append(tag)
            self._text.append("`")  # what stood here was no prose, so neither is the sentence
        names = dict(attrs)
        self._anchor = names.get("id") or (names.get("name") if tag == "a" else None) or self._anchor

    def handle_endtag(self, tag: str) -> None:
        """Close what the tag had opened."""
        if self._silent and tag == self._silent[-1]:
            self._silent.pop()
        elif tag in BLOCKS or tag in GROUPS:
            self._close()

    def handle_data(self, data: str) -> None:
        """Take the text up into the open block."""
        if not self._silent:
            self._text.append(data)

    def _close(self) -> None:
        text = " ".join("".join(self._text).split())
        if self._tag and text:
            self.blocks.append((self._tag, self._anchor, text))
            self._anchor = ""
        self._text, self._tag = [], ""


def pages(english: Path, other: Path) -> Iterator[Pair]:
    """Blocks of two HTML pages whose sections are alike."""
    yield from aligned(_page(english), _page(other))


def _page(path: Path) -> Blocks:
    page = _Page()
    page.feed(path.read_text("utf-8", "replace"))
    return page.blocks


def documents(english: Path, other: Path) -> Iterator[Pair]:
    """Blocks of two DocBook or Mallard documents whose sections are alike."""
    yield from aligned(_document(english), _document(other))


def _document(path: Path) -> Blocks:
    text = re.sub(
        r"<!DOCTYPE.*?(?:\]\s*>|>)", "", path.read_text("utf-8", "replace"), count=1, flags=re.DOTALL
    )
    try:
        root = ET.fromstring(re.sub(r"&(?!#|amp;|lt;|gt;|quot;|apos;)[\w.-]+;", "`", text))
    except ET.ParseError:
        return []
    found: Blocks = []
    anchor = ""
    for element in root.iter():
        anchor = element.get("id") or element.get("{http://www.w3.org/XML/1998/namespace}id") or anchor
        name = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
        if name in {"p", "para", "simpara", "title", "desc"}:
            found.append((name, anchor, " ".join("".join(element.itertext()).split())))
            anchor = ""
    return found


def aligned(english: Blocks, other: Blocks) -> Iterator[Pair]:
    """Texts in equal order, of the sections (from one anchor that both have to the next) with equal tags."""
    shared = _anchors(english) & _anchors(other)
    ours, theirs = _sections(english, shared), _sections(other, shared)
    for anchor, section in ours.items():
        mates = theirs.get(anchor, [])
        if [tag for tag, _ in section] == [tag for tag, _ in mates]:
            yield from zip((text for _, text in section), (text for _, text in mates), strict=True)


def _anchors(blocks: Blocks) -> set[str]:
    """The anchors that come once."""
    counts = Counter(anchor for _, anchor, _ in blocks)
    return {anchor for anchor, count in counts.items() if anchor and count == 1}


def _sections(blocks: Blocks, anchors: set[str]) -> dict[str, list[tuple[str, str]]]:
    """Tag and text of blocks by the last of ``anchors`` before them."""
    found: dict[str, list[tuple[str, str]]] = {}
    current = ""
    for tag, anchor, text in blocks:
        current = anchor if anchor in anchors else current
        found.setdefault(current, []).append((tag, text))
    return found


def word_list(path: Path) -> Iterator[Pair]:
    """Entries of a Ding word list (variants split by ``|`` and ``;``), without remarks."""
    for line in path.read_text("utf-8").splitlines():
        german, separator, english = line.partition(" :: ")
        ours, theirs = english.split("|"), german.split("|")
        if separator and not line.startswith("#") and len(ours) == len(theirs):
            for left, right in zip(ours, theirs, strict=True):
                if "…" not in left + right and "..." not in left + right:  # a gap to fill
                    yield _first(left), _first(right)


def _first(variants: str) -> str:
    """The first of several words of one meaning, without remarks, its pronouns written out."""
    plain = re.sub(r"\s*(?:\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|(?<!\S)/[^/]*/(?!\S)|<[^>]*>)", "", variants).split(
        ";"
    )[0]
    one = ALTERNATIVES.sub(_first_word, plain).strip()
    return re.sub(r"\b(?:sb|sth|jdm|jdn|jds|jd|etw)\.", lambda match: PRONOUNS[match[0]], one)


def _first_word(match: re.Match[str]) -> str:
    """The first of words joined by ``/``; all where capitals say that more than a word is replaced."""
    words = match[0].split("/")
    return words[0] if len({word[:1].isupper() for word in words}) == 1 else match[0]
