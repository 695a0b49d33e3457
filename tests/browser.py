"""A real browser for the tests of the web pages: Debian's Chromium, driven by Playwright."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

_QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@contextmanager
def open_browser() -> Iterator[Browser]:
    """A browser without a window.

    Playwright runs an event loop in this thread while it is open, so nothing else that needs one may run then.

    :raises RuntimeError: when there is none.
    """
    program = shutil.which("chromium")
    if program is None:
        raise RuntimeError("the tests of the web pages need Chromium: sudo apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=_QUIET)
        try:
            yield browser
        finally:
            browser.close()
