"""Draws docs/web-page.png, web-overlay.png, web-control.png and web-speak.png: the pages in a real browser.

PYTHONPATH=. .venv/bin/python docs/scripts/web_pictures.py

The captions are a script's, and so are the figures of the control room: the pictures show what there is to
see and measure nothing.
"""

import math
import random
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote

import numpy as np
import soundfile
from playwright.sync_api import Page, expect

from tests.browser import open_browser
from tests.connectors.rooms.speaking import serving
from tests.connectors.web.browser import caption
from tests.web_pages import ENGLISH, GERMAN, speak
from tests.web_stand_in import CaptionServer, caption_server

DOCS = Path(__file__).parent.parent
# Something to be over: a stage in the evening, drawn by the browser.
STAGE = """() => {
    document.body.style.background = `radial-gradient(circle at 50% 44%, #c9b48a 0 17%, transparent 17.2%),
        linear-gradient(#2b3350 0 70%, #8a6a48 70% 71%, #5b4430 71%)`;
}"""


def main() -> None:
    """Draw all four."""
    draw_speaker()
    with open_browser() as browser, caption_server() as captions:
        page = browser.new_page(viewport={"width": 1120, "height": 630})
        page.goto(f"{captions.page}?size=40")
        tell(captions, page)
        page.screenshot(path=DOCS / "web-page.png")

        page.goto(f"{captions.page}?overlay=1&fade=0")
        expect(page.locator("html[data-live]")).to_be_attached()
        page.evaluate(STAGE)
        captions.say(4, "Im ersten Stock sehen Sie die Gemälde der niederländischen Meister", settled=51)
        captions.say(
            4, "Im ersten Stock sehen Sie die Gemälde der niederländischen Meister, daneben ", settled=67
        )
        captions.say(
            4,
            "Im ersten Stock sehen Sie die Gemälde der niederländischen Meister, daneben Bronzen",
            settled=76,
        )
        expect(page.locator("#captions .text").last).to_contain_text("Bronzen")
        page.screenshot(path=DOCS / "web-overlay.png")

        page.set_viewport_size({"width": 1120, "height": 820})
        page.clock.install()
        page.goto(f"{captions.page}/control")
        expect(page.locator("#log li")).to_have_count(4)
        run(captions, page)
        page.screenshot(path=DOCS / "web-control.png")


def draw_speaker() -> None:
    """Draw the page of a speaker, whose microphone hears nothing."""
    with (
        TemporaryDirectory() as folder,
        serving() as served,
        open_browser(silence(Path(folder))) as browser,
    ):
        context = browser.new_context(viewport={"width": 1120, "height": 630}, permissions=["microphone"])
        page = context.new_page()
        page.goto(served.address)
        page.get_by_label("Name of the room").fill("Great hall")
        # The captions are a script's: what the room hears is not captioned.
        served.flow.goes.clear()
        page.get_by_role("button", name="Start speaking").click()
        expect(page.locator("#state-words")).to_have_text("listening")
        stream = page.evaluate("new URL(document.getElementById('share').dataset.address).pathname")
        said = list(zip(GERMAN, ENGLISH, strict=True))
        for segment, (german, english) in enumerate(said[-3:]):
            final = segment < 2
            for text in (german[:20], german):
                served.hub.caption(
                    caption(
                        text,
                        segment,
                        final=final and text == german,
                        source=english,
                        stream=unquote(stream)[9:],
                    )
                )
        expect(page.locator("#captions .text")).to_have_count(3)
        page.screenshot(path=DOCS / "web-speak.png")


def silence(folder: Path) -> Path:
    """A recording of nothing."""
    path = folder / "silence.wav"
    soundfile.write(path, np.zeros(16_000, np.int16), 16_000)
    return path


def tell(captions: CaptionServer, page: Page) -> None:
    """Let four sentences and a half be said."""
    speak(captions)
    captions.publish({"type": "state", "state": "speech", "sentence": None, "level_dbfs": -21.0})
    expect(page.locator("#captions .text")).to_have_count(5)
    expect(page.locator("#state-words")).to_have_text("speech")


def run(captions: CaptionServer, page: Page) -> None:
    """Let two minutes of figures pass."""
    dice = random.Random(4)
    for second in range(121):
        model = 130 + 50 * math.sin(second / 9) + 60 * dice.random()
        queue = 110 * dice.random() * (second % 11 < 2)
        parts = {"recogniser": 190 + 30 * dice.random(), "queue": queue, "model": model, "display": 4.0}
        latency = parts | {"from_speech": sum(parts.values()), "from_arrival": queue + model + 4}
        erasure = {
            "ne_raw": 0.34 + 0.8 * math.exp(-second / 25),
            "ne_shown": 0.09 + 0.3 * math.exp(-second / 20),
        }
        shares = {
            "accepted_over_drafted": 0.8 + 0.15 * dice.random(),
            "accepted_over_output": 0.7 + 0.2 * dice.random(),
        }
        counts = {"updates": 3 * second, "segments": second // 24, "overtaken": second // 40, "lost_s": 0.0}
        captions.publish({"type": "figures", "latency_ms": latency} | erasure | shares | counts)
        level = -24 - 14 * dice.random() - 22 * (second % 24 > 21)
        captions.publish({"type": "state", "state": "speech", "sentence": None, "level_dbfs": level})
        expect(page.locator("#counts")).to_have_text(f"{second // 24} segments · {3 * second} updates")
        page.clock.run_for(1000)


if __name__ == "__main__":
    main()
