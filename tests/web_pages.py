"""Pages in a real browser, and the server that they come from."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, WebError, expect

from tests.browser import open_browser
from tests.web_stand_in import CaptionServer, caption_server

Visit = Callable[..., Page]

_NO_WISHES = {
    "reduced_motion": "no-preference", "contrast": "no-preference", "forced_colors": "none",
    "color_scheme": "dark",
}  # fmt: skip

#: What somebody says in a museum, and how it is translated.
ENGLISH = (
    "Good morning, ladies and gentlemen, and welcome to the museum.",
    "The tour begins at ten o'clock in the great hall.",
    "Please leave your bags and coats in the cloakroom.",
    "Taking photographs is allowed in all rooms, but without flash.",
)
GERMAN = (
    "Guten Morgen, meine Damen und Herren, und willkommen im Museum.",
    "Die Führung beginnt um zehn Uhr in der großen Halle.",
    "Bitte lassen Sie Ihre Taschen und Mäntel an der Garderobe.",
    "Das Fotografieren ist in allen Räumen erlaubt, aber ohne Blitz.",
)


@pytest.fixture(name="captions")
def _captions() -> Iterator[CaptionServer]:
    """The server of a stream: here is where another one would take its place."""
    with caption_server() as captions:
        yield captions


@pytest.fixture(name="browser", scope="module")
def _browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture(name="first_page", scope="module")
def _first_page(browser: Browser) -> Page:
    """A page that tests take turns with: making one takes longer than most tests."""
    page = browser.new_context().new_page()
    page.set_default_timeout(5000)
    return page


@pytest.fixture(name="visit")
def _visit(first_page: Page) -> Iterator[Visit]:
    """Opens pages as ``visit(address, size=…, **media)``; all of a test share one browser profile.

    Whatever a page complains of fails the test: an error of its scripts, or something that the content
    security policy forbids. That a server could not be reached is no fault of the page.
    """
    context, unused = first_page.context, [first_page]
    complaints: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error" and "Failed to load resource" not in message.text:
            complaints.append(message.text)

    def fail(error: WebError) -> None:
        complaints.append(str(error.error))

    def visit(address: str, *, size: tuple[int, int] = (1000, 600), **media: Any) -> Page:
        page = unused.pop() if unused else context.new_page()
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.emulate_media(**_NO_WISHES | media)
        page.goto(address)
        return page

    context.on("console", hear)
    context.on("weberror", fail)
    yield visit
    for page in context.pages:
        if page is not first_page:
            page.close()
    first_page.goto("about:blank")
    context.remove_listener("console", hear)
    context.remove_listener("weberror", fail)
    assert not complaints


def shown(page: Page) -> Locator:
    """The translations on the page, in their order."""
    return page.locator("#captions .text:visible")


def expect_shown(page: Page, *texts: str) -> None:
    """Wait until exactly these translations are on the page."""
    expect(shown(page)).to_have_text(list(texts))
    # The browser's own text, in which white space counts.
    assert tuple(shown(page).all_text_contents()) == texts


def speak(captions: CaptionServer) -> None:
    """Four sentences that are over, and one that goes on."""
    for segment, (german, english) in enumerate(zip(GERMAN, ENGLISH, strict=True)):
        captions.say(segment, german, source=english, final=True)
    captions.say(4, "Im ersten Stock sehen Sie die Gemälde", settled=25, source="On the first floor you see")
