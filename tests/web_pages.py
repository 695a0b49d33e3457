"""Pages in a real browser, and the server that they come from."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect

from tests.browser import open_browser
from tests.web_stand_in import CaptionServer, caption_server

Visit = Callable[..., Page]

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


@pytest.fixture(name="visit")
def _visit(browser: Browser) -> Iterator[Visit]:
    """Opens pages as ``visit(address, **what a new page takes)``; all share one browser profile.

    Whatever a page complains of fails the test: an error of its scripts, or something that the content
    security policy forbids. That a server could not be reached is no fault of the page.
    """
    complaints: list[str] = []
    context = browser.new_context(viewport={"width": 1000, "height": 600})
    context.set_default_timeout(5000)

    def complain(message: ConsoleMessage) -> None:
        if message.type == "error" and "Failed to load resource" not in message.text:
            complaints.append(message.text)

    def visit(address: str, *, size: tuple[int, int] = (1000, 600), **media: Any) -> Page:
        page = context.new_page()
        page.on("console", complain)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.emulate_media(**media)
        page.goto(address)
        return page

    yield visit
    context.close()
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
