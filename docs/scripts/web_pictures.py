"""Draws docs/web-page.png, web-overlay.png, web-control.png, web-speak.png and web-meeting.png.

PYTHONPATH=. .venv/bin/python docs/scripts/web_pictures.py RECORDING MEETING

They are real runs in a real browser. The default models caption the recording: played at its own pace for
three of them, and as what the microphone of a speaker hears for the fourth. The meeting is in English and
Portuguese, and two readers follow it.
"""

import os
import signal
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

from playwright.sync_api import expect

from tests.browser import open_browser

DOCS = Path(__file__).parent.parent
PORT = 8765
ADDRESS = f"http://127.0.0.1:{PORT}"
#: Sentences that are finished when the control room is drawn.
FINISHED = 10
#: Seconds of the meeting before its picture.
MEETING_S = 40.0
#: Longest wait for anything, in milliseconds.
PATIENCE_MS = 120_000
# Whether the newest sentence is in progress, with words that stand and words that are new.
IN_PROGRESS = """() => {
    const all = name => [...document.querySelectorAll(`#captions .text .${name}`)];
    const words = name => all(name).at(-1)?.textContent ?? "";
    return words("settled").length > 20 && words("tentative").length > 4;
}"""
# Something for the overlay to be over: a stage in the evening, drawn by the browser.
STAGE = """() => {
    document.body.style.background = `radial-gradient(circle at 50% 44%, #c9b48a 0 17%, transparent 17.2%),
        linear-gradient(#2b3350 0 70%, #8a6a48 70% 71%, #5b4430 71%)`;
}"""


def main(recording: Path, meeting: Path) -> None:
    """Draw all five."""
    with surtitle("file", str(recording), "--to", "German", "--realtime", "--web", "--quiet"):
        draw_viewers(recording.stem)
    with surtitle("serve", "--to", "German"):
        draw_speaker(recording)
    both = ("--from", "English,Portuguese", "--to", "English,Portuguese")
    with surtitle("file", str(meeting), *both, "--realtime", "--web", "--quiet"):
        draw_meeting(meeting.stem)


@contextmanager
def surtitle(*arguments: str) -> Iterator[None]:
    """A run that serves pages, until it is left."""
    command = [str(Path(sys.executable).with_name("surtitle")), *arguments, "--port", str(PORT)]
    environment = {name: value for name, value in os.environ.items() if name != "SURTITLE_WEB_TOKEN"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        try:
            wait_for_server(process)
            yield
        finally:
            process.send_signal(signal.SIGINT)


def wait_for_server(process: "subprocess.Popen[bytes]") -> None:
    """Wait until the pages are served.

    Raises:
        RuntimeError: the run ended instead.
    """
    while process.poll() is None:
        try:
            with urlopen(f"{ADDRESS}/", timeout=1):
                return
        except OSError:
            pass
    raise RuntimeError("surtitle ended before it served a page")


def draw_viewers(stream: str) -> None:
    """Draw the pages of those who read, at one moment of the run."""
    with open_browser() as browser:
        overlay = browser.new_page(color_scheme="dark", viewport={"width": 1120, "height": 630})
        overlay.goto(f"{ADDRESS}/streams/{stream}?overlay=1&fade=0")
        overlay.evaluate(STAGE)
        control = browser.new_page(color_scheme="dark", viewport={"width": 1120, "height": 820})
        control.goto(f"{ADDRESS}/streams/{stream}/control")
        page = browser.new_page(color_scheme="dark", viewport={"width": 1120, "height": 630})
        page.goto(f"{ADDRESS}/streams/{stream}?size=40&source=1")
        page.wait_for_function(IN_PROGRESS, timeout=PATIENCE_MS)
        page.screenshot(path=DOCS / "web-page.png")
        overlay.screenshot(path=DOCS / "web-overlay.png")
        expect(control.locator("#log li")).to_have_count(FINISHED, timeout=PATIENCE_MS)
        control.screenshot(path=DOCS / "web-control.png")


def draw_speaker(recording: Path) -> None:
    """Draw the page of a speaker whose microphone hears the recording."""
    with open_browser(recording) as browser:
        context = browser.new_context(
            color_scheme="dark", viewport={"width": 1120, "height": 630}, permissions=["microphone"]
        )
        page = context.new_page()
        page.goto(ADDRESS)
        page.get_by_label("Name of the room").fill("Great hall")
        page.get_by_role("button", name="Start speaking").click()
        page.wait_for_function(IN_PROGRESS, timeout=PATIENCE_MS)
        page.screenshot(path=DOCS / "web-speak.png")


def draw_meeting(stream: str) -> None:
    """Draw the pages of two readers, side by side, at one moment of the meeting."""
    with open_browser() as browser:
        pages = []
        for language in ("en", "pt"):
            page = browser.new_page(color_scheme="dark", viewport={"width": 640, "height": 630})
            page.goto(f"{ADDRESS}/streams/{stream}?lang={language}&size=30")
            pages.append(page)
        pages[0].wait_for_timeout(1000 * MEETING_S)
        pages[0].wait_for_function(IN_PROGRESS, timeout=PATIENCE_MS)
        shots = [b64encode(page.screenshot()).decode() for page in pages]
        both = browser.new_page(viewport={"width": 1300, "height": 630})
        images = "".join(f'<img src="data:image/png;base64,{one}">' for one in shots)
        both.set_content(f'<body style="margin:0;display:flex;gap:20px;background:#888">{images}</body>')
        both.screenshot(path=DOCS / "web-meeting.png")


if __name__ == "__main__":
    main(*(Path(one).resolve() for one in sys.argv[1:3]))
