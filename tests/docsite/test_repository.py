"""A link of a page leads to the same place in the site as in the repository."""

from pathlib import Path

import pytest
from docsite.repository import Links, source_page


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("README.md", "LICENSE", "docs/live.md", "docs/examples/sink.py", "operators/events.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text\n")
    return tmp_path


@pytest.fixture
def links(root: Path) -> Links:
    return Links(root, ["index.md", "live.md", "reference/settings.md", "page.png"])


@pytest.mark.parametrize(
    ("page", "link", "expected"),
    [
        ("index.md", "docs/live.md#models", "live.md#models"),
        ("index.md", "docs/page.png", "page.png"),
        ("index.md", "LICENSE", "source/LICENSE.md"),
        ("live.md", "reference/settings.md", "reference/settings.md"),
        ("live.md", "../README.md#try-it", "index.md#try-it"),
        ("live.md", "../operators/events.py", "source/operators/events.py.md"),
        ("reference/settings.md", "../live.md", "../live.md"),
        ("reference/settings.md", "../examples", "../source/docs/examples.md"),
        ("reference/settings.md", "../../README.md", "../index.md"),
        ("live.md", "#models", "#models"),
        ("live.md", "https://example.com/docs/live.md", "https://example.com/docs/live.md"),
        ("live.md", "missing.md", "missing.md"),
        ("live.md", "../../outside.md", "../../outside.md"),
    ],
)
def test_a_link_leads_to_the_page_of_its_file(links: Links, page: str, link: str, expected: str) -> None:
    assert links.rewritten(f"See [it]({link}).", page) == f"See [it]({expected})."


def test_code_is_no_link(links: Links) -> None:
    text = "`[a](../LICENSE)`\n\n```\n[a](../LICENSE)\n```\n"
    assert links.rewritten(text, "live.md") == text
    assert links.sources == []


def test_a_file_that_is_linked_gets_a_page_and_a_folder_one_for_each_file(links: Links) -> None:
    links.rewritten("[a](../LICENSE) [b](examples) [c](live.md) [d](missing.md)", "live.md")
    assert links.sources == ["LICENSE", "docs/examples", "docs/examples/sink.py"]


def test_the_page_of_a_file_shows_it_as_code(root: Path) -> None:
    (root / "operators/events.py").write_text('"""See ```code```."""\n')
    page = source_page(root, "operators/events.py")
    assert page.endswith('# operators/events.py\n\n````python\n"""See ```code```."""\n````\n')


def test_the_page_of_a_folder_leads_to_its_files(root: Path) -> None:
    (root / "docs/examples/__pycache__").mkdir()
    (root / "docs/examples/__pycache__/sink.pyc").touch()
    assert source_page(root, "docs/examples").splitlines()[-1] == "- [sink.py](examples/sink.py.md)"
