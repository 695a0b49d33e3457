"""A real browser that opens pages from the disk, and what went wrong in them."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

_OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Chromium, as long as the context lasts; the test fails where there is none."""
    program = shutil.which("chromium")
    if program is None:
        pytest.fail("the tests of web pages need a browser: sudo apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(_OPTIONS))
        yield browser
        browser.close()


def complaints(page: Page) -> list[str]:
    """What a page says on its console, throws, or asks other hosts for: filled as it goes on."""
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(f"dialog {dialog.message}"))
    page.on("request", lambda request: None if request.is_navigation_request() else said.append(request.url))
    return said
