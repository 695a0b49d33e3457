"""The pages of the documentation: what they link to is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])


def prose(page: Path) -> str:
    """A page without its code blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as code hosts spell them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page: Path) -> list[str]:
    """The addresses of a page's links to other pages, pictures and headings."""
    addresses = re.findall(r"\]\(([^)\s]+)\)", prose(page))
    return [one for one in addresses if not one.startswith("https://")]


def is_broken(page: Path, link: str) -> bool:
    """Whether a link of a page leads nowhere."""
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return not target.exists() or bool(anchor and anchor not in anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert [link for link in links(page) if is_broken(page, link)] == []


def test_a_link_to_a_missing_page_or_heading_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One `heading`\n\n[here](#one-heading) [there](#two) [elsewhere](other.md)\n")
    assert [link for link in links(page) if is_broken(page, link)] == ["#two", "other.md"]


def test_the_readme_leads_to_every_page() -> None:
    linked = {(ROOT / link.partition("#")[0]).resolve() for link in links(ROOT / "README.md")}
    assert {page for page in PAGES if page.parent.name == "docs"} <= linked
