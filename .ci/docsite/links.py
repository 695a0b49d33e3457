"""Checks a built site: every link and anchor in it leads somewhere, and it asks no other host for anything.

python -m docsite.links FOLDER
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

#: Elements that load what they name, and the attribute that names it.
_LOADED = {"link": "href", **dict.fromkeys(("audio", "iframe", "img", "script", "source", "video"), "src")}
#: What a style sheet loads.
_STYLE = re.compile(r"""(?:url\(|@import)\s*["']?([^"')\s;]+)""")
#: Relations of links that load nothing.
_NAMED = {"canonical", "next", "prev"}
_MAX_PRINTED = 20
# Any host will do: addresses below are compared with each other.
_SITE = "http://site/"


class Page(NamedTuple):
    """What is in a page."""

    #: Anchors that links can lead to.
    anchors: frozenset[str]
    #: Addresses that links lead to, and those that are loaded with the page.
    links: tuple[str, ...]
    loaded: tuple[str, ...]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in _LOADED and _LOADED[tag] in given and given.get("rel") not in _NAMED:
            self.loaded.append(given[_LOADED[tag]])


def read_page(html: str) -> Page:
    """The anchors and addresses of a page."""
    reader = _Reader()
    reader.feed(html)
    return Page(frozenset(reader.anchors), tuple(reader.links), tuple(reader.loaded))


def problems(folder: Path) -> Iterator[str]:
    """One sentence for each link that leads nowhere, and for each address of another host that is loaded."""
    files = folder.rglob("*.html")
    pages = {path.relative_to(folder).as_posix(): read_page(path.read_text()) for path in files}
    if "index.html" not in pages:
        yield f"{folder} has no index.html; build the site first"
    for name, page in sorted(pages.items()):
        for address in (*page.links, *page.loaded):
            if is_broken(folder, pages, name, address):
                yield f"{name}: {address} leads nowhere"
        for address in page.loaded:
            if is_foreign(address):
                yield f"{name}: {address} is loaded from another host"
    for style in sorted(folder.rglob("*.css")):
        for address in _STYLE.findall(style.read_text()):
            if is_foreign(address):
                yield f"{style.relative_to(folder)}: {address} is loaded from another host"


def is_foreign(address: str) -> bool:
    """Whether an address names another host."""
    return bool(urlsplit(address).netloc)


def is_broken(folder: Path, pages: dict[str, Page], name: str, address: str) -> bool:
    """Whether an address in the page ``name`` leads nowhere in the site; others' addresses are not asked."""
    target, anchor = urldefrag(urljoin(_SITE + name, address))
    if not target.startswith(_SITE):
        return False
    path = unquote(urlsplit(target).path).lstrip("/") or "index.html"
    if path.endswith("/"):
        path += "index.html"
    if not (folder / path).is_file():
        return True
    return bool(anchor) and path in pages and unquote(anchor) not in pages[path].anchors


def main(folder: Path) -> int:
    """Print the problems; the exit code."""
    found = list(problems(folder))
    for sentence in found[:_MAX_PRINTED]:
        print(sentence, file=sys.stderr)
    if len(found) > _MAX_PRINTED:
        # Usually the same link, in the navigation of every page.
        print(f"and {len(found) - _MAX_PRINTED} more", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
