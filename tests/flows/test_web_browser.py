"""The page, the overlay and the control room as the program itself serves them, in a real browser."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser import complaints, open_browser
from tests.program import SURTITLE, Program

CAPTIONS = Path(__file__).parent.parent / "samples" / "captions.jsonl"
HOSTILE = "<script>document.title = 'taken'</script> ist Text"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a run serves the captions of a talk, the last of which is hostile."""
    events = [json.loads(line) for line in CAPTIONS.read_text().splitlines()]
    last = max(one["segment"] for one in events)
    events.append({**events[-1], "segment": last + 1, "revision": 0, "is_final": True, "shown": HOSTILE})
    path = tmp_path_factory.mktemp("web") / "talk.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    with Program(
        [SURTITLE, "replay", str(path), "--web", "--port", "0"],
        env={**os.environ, "PYTHONUNBUFFERED": "1"}, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            assert process.stderr is not None
            yield process.stderr.readline().split()[-1].rstrip("/")
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=60) == 0
        finally:
            process.kill()


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with open_browser() as browser:
        yield browser.new_page()


def test_the_program_serves_its_captions_to_a_browser_and_text_stays_text(address: str, page: Page) -> None:
    said = complaints(page)
    page.goto(address)
    page.get_by_role("link", name="talk").first.click()
    expect(page.locator("body")).to_contain_text("Guten Morgen, meine Damen und Herren")
    expect(page.locator("body")).to_contain_text(HOSTILE)
    assert page.title() != "taken"
    assert [one for one in said if not one.startswith(address)] == []
