"""Every page is in the navigation of the site, once."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from docsite.repository import ROOT_PAGES

ROOT = Path(__file__).parents[2]


def pages(entry: Any) -> Iterator[str]:
    """The pages of an entry of the navigation."""
    match entry:
        case str():
            yield entry
        case list():
            for one in entry:
                yield from pages(one)
        case dict():
            yield from pages(list(entry.values()))


def test_every_page_is_in_the_navigation_once() -> None:
    # Other parts of the configuration name Python objects, which a safe reader does not make.
    (block,) = re.findall(r"^nav:\n(?: .*\n)+", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    navigation = yaml.safe_load(block)["nav"]
    docs = ROOT / "docs"
    written = [path.relative_to(docs).as_posix() for path in docs.rglob("*.md")]
    assert sorted(pages(navigation)) == sorted([*written, *ROOT_PAGES.values()])
