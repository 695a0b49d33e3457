"""The report's page in a real browser, opened from the disk."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Browser, Page

from operators.events import Caption
from operators.metrics.erasure import ErasureMeter
from tests.browser import complaints, open_browser
from tests.flows.cli.test_report import report
from tests.flows.talk import SHOWN, captions, write

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<!-- </details> <img src=x onerror=alert(3)>",
    "\u2028alert(4)\u2029 \x00\x1b[2J \u202e \"'`{{ 7*7 }}${alert(5)}",
    "\"><svg onload=alert(6)><a href='javascript:alert(7)'>",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


def opened(browser: Browser, tmp_path: Path, *files: Path) -> tuple[Page, list[str]]:
    report(*files, "-o", tmp_path / "report.html")
    page = browser.new_page()
    said = complaints(page)
    page.goto((tmp_path / "report.html").as_uri())
    return page, said


def column(page: Page, name: str) -> list[str]:
    heads = page.locator("#list thead th").all_inner_texts()
    return page.locator(f"#list tbody tr > :nth-child({heads.index(name) + 1})").all_inner_texts()


def figures(page: Page) -> dict[str, list[str]]:
    """The cells of each row of the first table, behind its name."""
    rows = page.locator("table").first.locator("tbody tr").all()
    return {row.locator("th").inner_text(): row.locator("td").all_inner_texts() for row in rows}


def test_the_page_sends_no_requests_and_its_figures_are_those_of_the_terminal(
    browser: Browser, tmp_path: Path
) -> None:
    talk = write(tmp_path / "talk.jsonl", captions())
    report(talk, "--json", tmp_path / "report.json", "-o", tmp_path / "first.html")
    told: Any = msgspec.json.decode((tmp_path / "report.json").read_bytes())
    page, said = opened(browser, tmp_path, talk)
    assert said == []
    assert "talk.jsonl" in page.title()
    shown = figures(page)
    assert shown["latency from speech, p95"] == ["450 ms"]
    assert shown["NE shown"] == [f"{told['total']['ne_shown']:.2f}"]
    assert shown["lag, mean"] == [f"{told['total']['lag']['mean_s']:.2f} s"]
    erased = list(map(int, column(page, "erased")))
    assert erased == sorted((one["erased"] for one in told["segments"]), reverse=True)
    same = (tmp_path / "first.html").read_bytes() == (tmp_path / "report.html").read_bytes()
    assert same, "the same files give the same page"


def test_a_row_leads_to_its_segment(browser: Browser, tmp_path: Path) -> None:
    page, _ = opened(browser, tmp_path, write(tmp_path / "talk.jsonl", captions()))
    closed = page.locator("details:not([open])")
    assert closed.count() == len(SHOWN) - 1
    page.locator("#list tbody tr").last.get_by_role("link").click()
    assert page.url.endswith(f"#{page.locator('details').last.get_attribute('id')}")


def test_erased_words_are_struck_through_and_new_ones_are_marked(browser: Browser, tmp_path: Path) -> None:
    page, _ = opened(browser, tmp_path, write(tmp_path / "one.jsonl", captions([SHOWN[1]])))
    rows = page.locator(".rows li")
    assert rows.count() == len(SHOWN[1])
    assert rows.nth(0).locator("del").all_inner_texts() == ["Tür"]
    assert rows.nth(1).locator("ins").all_inner_texts() == ["Führung beginnt"]
    assert rows.nth(1).locator(".gone").inner_text() == "−1"
    assert rows.nth(2).locator("del").count() == 0
    assert rows.nth(2).locator(".text").inner_text() == SHOWN[1][2]
    # The first update came 0.75 s + 0.45 s after the segment's begin.
    assert rows.nth(0).locator("time").inner_text() == "+1.2 s"


def test_an_erasure_log_shows_lengths_and_says_so(browser: Browser, tmp_path: Path) -> None:
    meter = ErasureMeter("13a")
    records = [meter.record(one) for one in captions([SHOWN[1]])]
    page, said = opened(browser, tmp_path, write(tmp_path / "log.jsonl", records))
    assert said == []
    assert "An erasure log has no text" in page.locator("main").inner_text()
    assert page.locator(".rows").count() == 0


def test_two_runs_stand_side_by_side_on_one_scale(browser: Browser, tmp_path: Path) -> None:
    steady = captions([["Die", "Die Führung beginnt", SHOWN[1][2]]], stream="other", model_s=1.3)
    before = write(tmp_path / "before.jsonl", captions([SHOWN[1], SHOWN[2]]))
    page, said = opened(browser, tmp_path, before, write(tmp_path / "after.jsonl", steady))
    assert said == []
    shown = figures(page)
    assert shown["NE shown"][-1] == "-100 %, better"
    assert "worse" in shown["latency from speech, p50"][-1]
    # Matched by number, although the streams have different names.
    row = page.locator("#list tbody tr", has=page.get_by_role("link", name="0", exact=True))
    assert row.locator("td").nth(-2).inner_text() == "-1"
    heads = page.locator("#list thead th").count()
    assert {row.locator("th, td").count() for row in page.locator("#list tbody tr").all()} == {heads}
    assert set(column(page, "latency B")) == {"1.45 s", "–"}
    assert "has no such segment" in page.locator("details", has_text="Segment 1").text_content()  # type: ignore[operator]


def test_text_from_a_file_is_never_markup(browser: Browser, tmp_path: Path) -> None:
    made: list[Caption] = []
    for number, text in enumerate(HOSTILE):
        texts = [text, f"{text} {HOSTILE[0]}", HOSTILE[number - 1]]
        made += [
            msgspec.structs.replace(one, source=text, withheld=f" {text}")
            for one in captions([texts], stream=text)
        ]
    page, said = opened(browser, tmp_path, write(tmp_path / "<img src=x onerror=alert(8)>.jsonl", made))
    for details in page.locator("details").all():
        if details.get_attribute("open") is None:
            details.locator("summary").click()
    assert page.locator("script").count() == 0
    assert page.locator("img, main svg svg, [onload], [onerror], a[href^=javascript]").count() == 0
    assert (
        "<script>alert(1)</script>"
        in page.locator(".rows").first.inner_text() + page.locator("#list tbody").inner_text()
    )
    assert said == []


def test_a_segment_of_many_updates_is_drawn_from_its_last_ones_on(browser: Browser, tmp_path: Path) -> None:
    endless = captions([[f"Wort {number}" for number in range(500)]])
    page, said = opened(browser, tmp_path, write(tmp_path / "endless.jsonl", endless))
    assert said == []
    assert "the first 200 updates are left out" in page.locator("details .sum").inner_text()
    assert page.locator(".rows li").count() == 300


def test_a_segment_with_more_text_than_a_page_holds_is_listed_and_not_drawn(
    browser: Browser, tmp_path: Path
) -> None:
    long = captions([["Wort " * 40_000, "Worte " * 40_000], SHOWN[1]])
    page, said = opened(browser, tmp_path, write(tmp_path / "long.jsonl", long))
    assert said == []
    assert page.locator("#list tbody tr").count() == 2
    assert page.locator("#list tbody a").all_inner_texts() == ["1"]


def test_many_updates_give_a_page_that_opens(browser: Browser, tmp_path: Path) -> None:
    updates = [f"Wort{number} " * 12 for number in range(4)]
    many = captions([updates for _ in range(1100)])
    page, said = opened(browser, tmp_path, write(tmp_path / "many.jsonl", many))
    assert said == []
    assert (tmp_path / "report.html").stat().st_size < 5_000_000
    assert "1000 of 1100 segments are listed" in page.locator("main").inner_text()
    assert page.locator("details").count() < 1100
    assert page.locator("figure").first.locator("rect").count() <= 410
