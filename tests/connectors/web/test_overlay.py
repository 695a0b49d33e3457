"""The overlay, a browser source of OBS, in a real browser."""

from io import BytesIO
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread
from numpy.typing import NDArray
from playwright.sync_api import Browser, Page, expect

from tests.connectors.web.browser import caption
from tests.connectors.web.serving import Served
from tests.web_pages import GERMAN, Visit, expect_shown, shown, speak
from tests.web_stand_in import CaptionServer

# What OBS runs in a page with a source's custom CSS: `BrowserClient::OnLoadEnd` in obs-browser.
_CUSTOM_CSS = """css => {
    const obsCSS = document.createElement('style');
    obsCSS.appendChild(document.createTextNode(decodeURIComponent(css)));
    document.querySelector('head').appendChild(obsCSS);
}"""


def _open(visit: Visit, captions: CaptionServer, query: str = "", **media: Any) -> Page:
    """An overlay that has had its snapshot."""
    page = visit(f"{captions.page}?overlay=1{query}", **media)
    expect(page.locator("html[data-live]")).to_be_attached()
    return page


def _alpha(page: Page) -> NDArray[Any]:
    """Opacity of each pixel, from 0 to 1."""
    return np.asarray(
        imread(BytesIO(page.screenshot(omit_background=True, animations="disabled")), format="png")
    )[..., 3]


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_all_but_the_letters_is_transparent(captions: CaptionServer, visit: Visit, scheme: str) -> None:
    page = _open(visit, captions, size=(1280, 720), color_scheme=scheme)
    captions.say(0, "Guten Morgen")
    expect_shown(page, "Guten Morgen")
    alpha = _alpha(page)
    assert alpha[: 720 * 3 // 4].max() == 0
    assert alpha[720 * 3 // 4 :].max() == 1
    assert (alpha > 0).mean() < 0.05


def test_it_shows_the_captions_and_nothing_else(captions: CaptionServer, visit: Visit) -> None:
    page = _open(visit, captions, size=(1280, 720))
    captions.say(0, "Guten Morgen")
    captions.publish(
        {"type": "state", "state": "no microphone", "sentence": "The microphone is gone.", "level_dbfs": None}
    )
    captions.say(0, "Guten Morgen!")
    expect_shown(page, "Guten Morgen!")
    assert page.locator("body").inner_text() == "Guten Morgen!"
    assert page.locator("button, a, header, dialog, input, [tabindex]").count() == 0
    for overflow in page.locator("html, body, #scroller").evaluate_all(
        "es => es.map(e => getComputedStyle(e).overflowY)"
    ):
        assert overflow == "hidden"


def test_while_the_server_is_away_it_says_nothing(captions: CaptionServer, visit: Visit) -> None:
    captions.is_refusing = True
    page = visit(captions.page + "?overlay=1")
    expect(page.locator("#captions")).to_be_attached()
    assert _alpha(page).max() == 0


def test_the_last_lines_stand_whole(captions: CaptionServer, visit: Visit) -> None:
    page = _open(visit, captions, "&lines=3&size=40", size=(800, 450))
    expect(page.locator("#captions")).to_be_attached()
    for segment in range(4):
        captions.say(segment, f"{segment} {GERMAN[segment]} {GERMAN[segment]}", settled=10)
    expect(shown(page).last).to_contain_text("Das Fotografieren")
    scroller, last = page.locator("#scroller").bounding_box(), shown(page).last.bounding_box()
    assert scroller is not None
    assert last is not None
    assert abs(scroller["height"] - 3 * 40 * 1.36) < 1
    assert abs(last["y"] + last["height"] - scroller["y"] - scroller["height"]) < 1


def test_it_fades_in_silence_and_what_was_said_does_not_come_back(
    captions: CaptionServer, browser: Browser
) -> None:
    # A page of its own, for its clock stays changed. That goes on meanwhile: there must be room for a wait.
    page = browser.new_page(reduced_motion="reduce")
    page.clock.install()
    page.goto(captions.page + "?overlay=1&fade=30")
    expect(page.locator("html[data-live]")).to_be_attached()
    captions.say(0, "Guten Morgen.", final=True)
    expect_shown(page, "Guten Morgen.")
    assert _alpha(page).max() == 1
    page.clock.fast_forward(10_000)
    assert _alpha(page).max() == 1
    page.clock.fast_forward(20_000)
    expect(page.locator("html[data-quiet]")).to_be_attached()
    assert _alpha(page).max() == 0
    captions.say(1, "Danach")
    expect_shown(page, "Danach")
    assert _alpha(page).max() == 1


def test_what_was_said_before_it_began_does_not_show(captions: CaptionServer, visit: Visit) -> None:
    speak(captions)
    page = visit(captions.page + "?overlay=1")
    expect_shown(page, "Im ersten Stock sehen Sie die Gemälde")


def test_only_its_address_counts(captions: CaptionServer, visit: Visit) -> None:
    page = visit(captions.page + "?size=99&source=1")
    page.keyboard.press("t")
    overlay = _open(visit, captions, "&text=00ff00&size=44&source=0")
    captions.say(0, "Guten Morgen", source="Good morning")
    expect_shown(overlay, "Guten Morgen")
    expect(overlay.locator("#captions")).to_have_css("font-size", "44px")
    expect(overlay.locator("#captions")).to_have_css("color", "rgb(0, 255, 0)")
    expect(overlay.locator(".source")).to_be_hidden()


def test_letters_have_an_outline_or_a_box(captions: CaptionServer, visit: Visit) -> None:
    page = visit(captions.page + "?overlay=1")
    captions.say(0, "Guten Morgen")
    expect_shown(page, "Guten Morgen")
    assert (
        page.locator("#captions").evaluate("e => getComputedStyle(e).textShadow").count("rgb(0, 0, 0)") >= 8
    )
    boxed = _open(visit, captions, "&background=000000b3")
    captions.say(0, "Guten Morgen allerseits")
    expect_shown(boxed, "Guten Morgen allerseits")
    expect(shown(boxed)).to_have_css("background-color", "rgba(0, 0, 0, 0.7)")


def test_custom_css_of_obs_counts(served: Served, visit: Visit) -> None:
    served.hub.caption(caption("Guten Morgen"))
    page = visit(f"{served.address}streams/talk?overlay=1")
    expect_shown(page, "Guten Morgen")
    page.evaluate(_CUSTOM_CSS, "%23captions%20%7B%20color%3A%20rgb(255%2C%200%2C%200)%20%7D")
    expect(page.locator("#captions")).to_have_css("color", "rgb(255, 0, 0)")


def test_a_server_that_begins_anew_is_shown_again(captions: CaptionServer, visit: Visit) -> None:
    captions.say(0, "Schon vorbei.", final=True)
    page = _open(visit, captions)
    expect_shown(page)
    captions.restart()
    captions.say(0, "Willkommen zurück")
    expect_shown(page, "Willkommen zurück")
