"""What is wrong with the addresses in a built site is found."""

from pathlib import Path

import pytest
from docsite.links import main, problems


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "guide").mkdir()
    (tmp_path / "index.html").write_text('<h1 id="top">a</h1> <a href="guide/live.html#models">b</a>')
    (tmp_path / "guide/live.html").write_text(
        '<h2 id="models">c</h2> <a href="../index.html#top">d</a> <a href="https://example.com/">e</a>'
        '<link rel="canonical" href="https://example.com/live"> <img src="../p%20q.png"> <a href="..">f</a>'
    )
    (tmp_path / "p q.png").touch()
    return tmp_path


def test_a_site_whose_links_all_lead_somewhere_passes(site: Path) -> None:
    assert main(site) == 0


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<a href="missing.html">', "missing.html leads nowhere"),
        ('<a href="live.html#missing">', "live.html#missing leads nowhere"),
        ('<a href="#missing">', "#missing leads nowhere"),
        ('<img src="missing.png">', "missing.png leads nowhere"),
        ('<script src="https://cdn.example/x.js">', "https://cdn.example/x.js is loaded from another host"),
        ('<link rel="icon" href="//cdn.example/i.svg">', "//cdn.example/i.svg is loaded from another host"),
    ],
)
def test_what_leads_nowhere_or_to_another_host_is_named(
    site: Path, html: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (site / "guide/more.html").write_text(html)
    assert main(site) == 1
    assert capsys.readouterr().err == f"guide/more.html: {expected}\n"


@pytest.mark.parametrize("rule", ['@import "https://cdn.example/a.css";', "b{c:url(//cdn.example/a.woff)}"])
def test_a_style_sheet_that_asks_another_host_is_named(site: Path, rule: str) -> None:
    (site / "style.css").write_text(rule)
    (found,) = problems(site)
    assert found.startswith("style.css: ")
    assert found.endswith("is loaded from another host")


def test_a_folder_without_a_site_does_not_pass(tmp_path: Path) -> None:
    assert list(problems(tmp_path)) == [f"{tmp_path} has no index.html; build the site first"]


def test_of_many_problems_the_first_are_printed(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (site / "guide/more.html").write_text('<a href="missing.html">' * 30)
    assert main(site) == 1
    printed = capsys.readouterr().err.splitlines()
    assert printed[-1] == f"and {30 - len(printed) + 1} more"
