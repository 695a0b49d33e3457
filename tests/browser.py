"""A real browser for the tests of the web pages: Debian's Chromium, driven by Playwright.

Its headless shell, if that is there: a page in it takes a third of the time.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

# Milliseconds for what a page is to show: a busy machine takes its time.
expect.set_options(timeout=60_000)

_QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip

_HEARD = ["--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream"]


@contextmanager
def open_browser(microphone: Path | None = None) -> Iterator[Browser]:
    """A browser without a window.

    While it is open Playwright runs an event loop in this thread, so nothing else can.

    Args:
        microphone: A WAV file that its microphone hears again and again; pages may use it.

    Raises:
        RuntimeError: when there is none.
    """
    program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if program is None:
        raise RuntimeError(
            "the tests of the web pages need Chromium: sudo apt-get install chromium-headless-shell"
        )
    with sync_playwright() as playwright:
        heard = [] if microphone is None else [*_HEARD, f"--use-file-for-fake-audio-capture={microphone}"]
        browser = playwright.chromium.launch(executable_path=program, args=[*_QUIET, *heard])
        try:
            yield browser
        finally:
            browser.close()


def complaints(page: Page) -> list[str]:
    """What a page says on its console, throws, or asks other hosts for: filled as it goes on."""
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(f"dialog {dialog.message}"))
    page.on("request", lambda request: None if request.is_navigation_request() else said.append(request.url))
    return said
