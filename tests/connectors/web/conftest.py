"""Servers and pages that tests share."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, WebError

from connectors.web.messages import Languages
from tests.browser import open_browser
from tests.connectors.web.serving import Served, serving
from tests.web_pages import Visit


@pytest.fixture
def served() -> Iterator[Served]:
    """A server of the test's own."""
    with serving() as one:
        yield one


@pytest.fixture(scope="session")
def standing() -> Iterator[Served]:
    """A server that several tests only read from."""
    with serving(names=("captions.example",)) as one:
        yield one


_NO_WISHES = {
    "reduced_motion": "no-preference", "contrast": "no-preference", "forced_colors": "none",
    "color_scheme": "dark",
}  # fmt: skip


@pytest.fixture
def captions(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server with the German stream ``talk``, to which browsers come back at once."""
    monkeypatch.setattr("connectors.web.app.randrange", lambda *_: 40)
    with serving(streams=["talk"], languages=[Languages(source="en", target="de")]) as one:
        yield one


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def first_page(browser: Browser) -> Page:
    """A page that tests take turns with: making one takes longer than most tests."""
    page = browser.new_context().new_page()
    page.set_default_timeout(60_000)
    return page


@pytest.fixture
def visit(first_page: Page) -> Iterator[Visit]:
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
