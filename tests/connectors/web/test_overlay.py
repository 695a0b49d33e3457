"""The overlay, a browser source of OBS, in a real browser."""

from io import BytesIO
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread
from numpy.typing import NDArray
from playwright.sync_api import Browser, Page, expect

from connectors.view import Status
from tests.connectors.web.serving import Served
from tests.web_pages import Visit, expect_shown, shown


def _open(visit: Visit, captions: Served, query: str = "", **media: Any) -> Page:
    """An overlay that has had its snapshot."""
    page = visit(f"{captions.page}?overlay=1{query}", **media)
    expect(page.locator("html[data-live]")).to_be_attached()
    return page


def _alpha(page: Page) -> NDArray[Any]:
    """Opacity of each pixel, from 0 to 1."""
    picture = page.screenshot(omit_background=True, animations="disabled")
    return np.asarray(imread(BytesIO(picture), format="png"))[..., 3]


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_it_shows_the_captions_and_nothing_else(captions: Served, visit: Visit, scheme: str) -> None:
    page = _open(visit, captions, size=(1280, 720), color_scheme=scheme)
    captions.say(0, "Guten Morgen")
    captions.hub.status(Status(state="no microphone"), "The microphone is gone.")
    captions.say(0, "Guten Morgen!")
    expect_shown(page, "Guten Morgen!")
    assert page.locator("body").inner_text() == "Guten Morgen!"
    assert page.locator("button, a, header, dialog, input, [tabindex]").count() == 0
    overflows = "es => es.map(e => getComputedStyle(e).overflowY)"
    assert page.locator("html, body, #scroller").evaluate_all(overflows) == ["hidden"] * 3
    alpha = _alpha(page)
    assert alpha[: 720 * 3 // 4].max() == 0
    assert alpha[720 * 3 // 4 :].max() == 1
    assert (alpha > 0).mean() < 0.05


_LONG = (
    "Es war die beste Zeit und die schlimmste Zeit, ein Jahrhundert der Weisheit und des Unsinns, eine "
    "Epoche des Glaubens und des Unglaubens, eine Periode des Lichts und der Finsternis."
)
_ROWS = """() => [...document.querySelectorAll("#captions .text")].map((row) => {
    const { left, right } = row.getBoundingClientRect();
    return [row.textContent, left, right];
})"""


def _with_a_clock(browser: Browser, captions: Served, query: str) -> Page:
    """An overlay of its own, for its clock stays changed; that goes on unless a test moves it."""
    page = browser.new_page(viewport={"width": 1280, "height": 720}, reduced_motion="reduce")
    page.clock.install()
    page.goto(f"{captions.page}?overlay=1{query}")
    expect(page.locator("html[data-live]")).to_be_attached()
    return page


def test_of_a_long_sentence_that_comes_at_once_every_word_is_shown(
    captions: Served, browser: Browser
) -> None:
    page = _with_a_clock(browser, captions, "&size=72")
    captions.say(0, "Es war die")
    expect_shown(page, "Es war die")
    captions.say(0, _LONG, final=True)
    expect(shown(page)).to_have_count(2)
    rows: list[str] = []
    for _ in range(40):
        for row, left, right in page.evaluate(_ROWS):
            assert 0 <= left < right <= 1280
            rows += [] if row in rows else [row]
        page.clock.run_for(250)
    assert " ".join(rows) == _LONG


def test_finished_sentences_alone_are_shown_if_asked_for(captions: Served, visit: Visit) -> None:
    overlay = _open(visit, captions, "&finals=1")
    page = visit(captions.page + "?finals=1")
    captions.say(0, "Guten Morgen")
    captions.say(0, "Guten Morgen.", final=True)
    captions.say(1, "Willkommen im")
    for one in (overlay, page):
        expect_shown(one, "Guten Morgen.")
    captions.say(1, "Willkommen im Museum.", final=True)
    for one in (overlay, page):
        expect_shown(one, "Guten Morgen.", "Willkommen im Museum.")


def test_the_original_has_rows_of_its_own_above_the_translation(captions: Served, visit: Visit) -> None:
    page = _open(visit, captions, "&source=1")
    captions.say(0, "Guten Morgen", source="Good morning")
    expect_shown(page, "Guten Morgen")
    expect(page.locator("#original .text")).to_have_text(["Good morning"])
    original, translation = (page.locator(f"#{one} .text").bounding_box() for one in ("original", "captions"))
    assert original is not None
    assert translation is not None
    assert original["y"] + original["height"] <= translation["y"]
    assert original["height"] < translation["height"]


def test_it_fades_in_silence_and_what_was_said_does_not_come_back(captions: Served, browser: Browser) -> None:
    page = _with_a_clock(browser, captions, "&fade=30")
    captions.say(0, "Guten Morgen.", final=True)
    expect_shown(page, "Guten Morgen.")
    page.clock.fast_forward(10_000)
    assert _alpha(page).max() == 1
    page.clock.fast_forward(20_000)
    expect(page.locator("html[data-quiet]")).to_be_attached()
    assert _alpha(page).max() == 0
    captions.say(1, "Danach")
    expect_shown(page, "Danach")
    assert _alpha(page).max() == 1


def test_custom_css_of_obs_counts(captions: Served, visit: Visit) -> None:
    page = _open(visit, captions)
    page.add_style_tag(content="#captions { color: rgb(255, 0, 0) }")
    expect(page.locator("#captions")).to_have_css("color", "rgb(255, 0, 0)")


def test_a_server_that_begins_anew_is_shown_again(captions: Served, visit: Visit) -> None:
    captions.say(0, "Schon vorbei.", final=True)
    page = _open(visit, captions)
    expect_shown(page)
    captions.restart()
    captions.say(0, "Willkommen zurück")
    expect_shown(page, "Willkommen zurück")
