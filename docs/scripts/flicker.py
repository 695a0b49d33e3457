"""How much captions flicker for viewers: PYTHONPATH=. python docs/scripts/flicker.py RETRANSLATED SSBD

Give captions of one recording (``--captions`` of ``surtitle replay``), by ``--method retranslate`` and by
``ssbd``. They are replayed into the overlay in a headless Chromium whose clock is stepped frame by frame;
what the models took to compute is left out. ``--before FOLDER`` adds the overlay of ``connectors/web/static``
of an earlier version.

Flicker is the metric of Liu et al., "Modeling and Improving Text Stability in Live Captions" (CHI 2023), as
its authors summarise it (research.google, August 2023, "Metric"): the difference in luminance of each two
consecutive frames is taken to its spatial frequencies by a discrete Fourier transform, their magnitudes are
summed over low and high frequencies, and the sums averaged over all pairs. The scale is ours: an orthonormal
transform of luminances from 0 to 1, times 1000 for each pixel, of frames that are reduced to a quarter of
their width and height. Identical frames have 0.
"""

import argparse
from collections.abc import Iterator
from difflib import SequenceMatcher
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
import numpy as np
from matplotlib.image import imread
from playwright.sync_api import Browser, Page, Route

from connectors.jsonl.files import read_events
from connectors.web.messages import Languages
from connectors.web.protocol import StreamLog
from operators.events import Caption
from operators.metrics.erasure import ErasureMeter
from tests.browser import open_browser

STATIC = Path(__file__).parent.parent.parent / "connectors" / "web" / "static"
FPS = 10
SIZE = {"width": 1280, "height": 720}
QUERY = "overlay=1&lines=2&size=72"
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

# Messages come when the script says so, and it is known whether the page changed since the last look.
PREPARE = """
window.EventSource = class {
    constructor() { window.feed = (messages) => { for (const data of messages) this.onmessage({ data }); }; }
    close() {}
};
window.isChanged = true;
new MutationObserver(() => { window.isChanged = true; })
    .observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
"""
# The words on display, in their order; null if nothing changed.
LOOK = """() => {
    if (!window.isChanged) return null;
    window.isChanged = false;
    const box = document.getElementById("scroller").getBoundingClientRect(), words = [];
    if (document.documentElement.hasAttribute("data-quiet")) return words;
    const range = document.createRange();
    for (const line of document.querySelectorAll("#captions .text")) {
        const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
        let word = "";
        for (let node; (node = walker.nextNode());) {
            for (const { 0: part, index } of node.data.matchAll(/\\s+|\\S+/g)) {
                if (!part.trim()) { if (word) words.push(word); word = ""; continue; }
                range.setStart(node, index);
                range.setEnd(node, index + part.length);
                const { top, bottom, height } = range.getBoundingClientRect();
                if (height && top > box.top - height / 2 && bottom < box.bottom + height / 2) word += part;
            }
        }
        if (word) words.push(word);
    }
    return words;
}"""


class Display(NamedTuple):
    """One row of the table."""

    name: str
    captions: list[Caption]
    query: str = ""
    static: Path = STATIC


class Seen(NamedTuple):
    """What a viewer saw."""

    flicker: float
    erasure: float
    #: Mean seconds that a word is displayed behind the time when it was said.
    delay_s: float
    #: Shares of the words of finals that never were on display, and that were for less than half a second.
    lost: float
    brief: float


def watch(browser: Browser, display: Display) -> Seen:
    """Replay captions into a display and look at each frame."""
    page = browser.new_page(viewport=SIZE, color_scheme="dark", reduced_motion="reduce")  # type: ignore[arg-type]
    page.route("**/*", lambda route: answer(route, display.static))
    page.add_init_script(PREPARE)
    page.clock.install(time=0)
    page.goto(f"http://captions.test/streams/talk?{QUERY}{display.query}")
    page.clock.pause_at(1000)
    page.evaluate("document.documentElement.style.background = '#000'")
    frames = list(step(page, display.captions))
    page.close()
    words = Words(display.captions)
    for number, (shown, _) in enumerate(frames):
        words.see(shown, number / FPS)
    meter = ErasureMeter("13a")
    erasure = [meter.record(caption).shown.ne_stream for caption in display.captions][-1]
    return Seen(flicker([image for _, image in frames]), erasure, *words.summary())


def answer(route: Route, static: Path) -> None:
    """Serve the page and its files."""
    path = Path(urlsplit(route.request.url).path)
    file = static / (path.name if path.parent.name == "static" else "page.html")
    route.fulfill(body=file.read_bytes(), content_type=TYPES[file.suffix])


def step(page: Page, captions: list[Caption]) -> Iterator[tuple[list[str], np.ndarray[Any, Any]]]:
    """The words on display and the luminance of each frame."""
    log = StreamLog("talk", Languages(source="en", target="de"), "speech")
    waiting, (position, snapshot) = list(captions), log.arrival(None)
    page.evaluate("messages => feed(messages)", data(snapshot))
    words, image = list[str](), np.zeros((1, 1))
    # Long enough for what still waits.
    for number in range(round(FPS * (captions[-1].arrival_s + 10))):
        while waiting and waiting[0].arrival_s <= number / FPS:
            log.caption(waiting.pop(0))
        if log.position > position:
            page.evaluate("messages => feed(messages)", data(log.after(position) or b""))
            position = log.position
        look = page.evaluate(LOOK)
        if look is not None:
            words, image = (
                look,
                luminance(page.screenshot(clip={"x": 0, "y": 480, "width": 1280, "height": 240})),
            )
        yield words, image
        page.clock.run_for(1000 // FPS)


def data(events: bytes) -> list[str]:
    """The messages of events."""
    return [line[6:].decode() for line in events.split(b"\n") if line.startswith(b"data: ")]


def luminance(png: bytes) -> np.ndarray[Any, Any]:
    """Relative luminance, 0 to 1, of a picture at a quarter of its size (WCAG's linear weights)."""
    colours = np.asarray(imread(BytesIO(png), format="png"), dtype=np.float64)[..., :3]
    grey = colours @ np.array([0.2126, 0.7152, 0.0722])
    height, width = (length // 4 * 4 for length in grey.shape)
    return grey[:height, :width].reshape(height // 4, 4, width // 4, 4).mean(axis=(1, 3))


def flicker(images: list[np.ndarray[Any, Any]]) -> float:
    """The metric of the module's description."""
    pairs = [0.0]
    for before, after in pairwise(images):
        change = 0.0 if before is after else float(np.abs(np.fft.fft2(after - before, norm="ortho")).mean())
        pairs.append(1000 * change)
    return fmean(pairs[1:])


class Words:
    """When each word of the finals was on display: words are found again by comparing sequences."""

    def __init__(self, captions: list[Caption]) -> None:
        finals = [caption for caption in captions if caption.is_final]
        begun = {caption.segment: caption.arrival_s for caption in reversed(captions)}
        self._said = list[tuple[str, float, float]]()
        for final in finals:
            words = final.shown.split()
            length_s = final.end_s - final.start_s
            self._said += [
                (word, final.start_s + length_s * (number + 1) / len(words), begun[final.segment])
                for number, word in enumerate(words)
            ]
        self._seen_s: list[list[float]] = [[] for _ in self._said]

    def see(self, words: list[str], now_s: float) -> None:
        """The words on display at a time."""
        # What was seen a while ago is not compared, nor what has not begun.
        first = next((n for n, seen in enumerate(self._seen_s) if not seen or seen[-1] > now_s - 15), 0)
        last = sum(begun_s <= now_s for _, _, begun_s in self._said)
        first = max(min(first, last), last - 150)
        said = [word for word, _, _ in self._said[first:last]]
        for block in SequenceMatcher(None, said, words, autojunk=False).get_matching_blocks():
            # One word alone may be there by chance.
            if block.size > 1 or len(words) == 1:
                for seen in self._seen_s[first + block.a : first + block.a + block.size]:
                    seen.append(now_s)

    def summary(self) -> tuple[float, float, float]:
        """Mean delay, the share of words that were never seen, and that for less than half a second."""
        delays = [
            seen[0] - said_s for (_, said_s, _), seen in zip(self._said, self._seen_s, strict=True) if seen
        ]
        counts = [len(seen) for seen in self._seen_s]
        return (
            fmean(delays),
            counts.count(0) / len(counts),
            sum(0 < one < FPS / 2 for one in counts) / len(counts),
        )


def until(captions: list[Caption], seconds: float, *, mask: bool) -> list[Caption]:
    """Captions of whole segments until a time, with or without the display mask."""
    whole = [caption for caption in captions if caption.end_s <= seconds]
    last = max(caption.segment for caption in whole if caption.is_final)
    whole = [caption for caption in whole if caption.segment <= last]
    return whole if mask else [msgspec.structs.replace(one, shown=one.text, withheld="") for one in whole]


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("retranslated", type=Path)
    parser.add_argument("ssbd", type=Path)
    parser.add_argument("--before", type=Path, help="the folder static of an earlier version")
    parser.add_argument("--seconds", type=float, default=90, help="of the recording")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    options = parser.parse_args()
    retranslated, ssbd = ([*read_events(path, Caption)] for path in (options.retranslated, options.ssbd))
    texts = {
        "re-translation": until(retranslated, options.seconds, mask=False),
        "SSBD": until(ssbd, options.seconds, mask=False),
        "SSBD, mask": until(ssbd, options.seconds, mask=True),
    }
    before = [Display(f"{name}; before", one, static=options.before) for name, one in texts.items()]
    masked = texts["SSBD, mask"]
    displays = [
        *(before if options.before else []),
        *(Display(f"{name}; pages", one) for name, one in texts.items()),
        Display("SSBD, mask; pages, marks", masked, "&marks=1"),
        Display("SSBD, mask; pages, centred", masked, "&align=center"),
        Display("SSBD, mask; pages, pace 14", masked, "&pace=14"),
        Display("SSBD, mask; pages, pace 30", masked, "&pace=30"),
        Display("finals; pages", masked, "&finals=1"),
    ]
    print("| captions; display | flicker | NE | behind the speech | never shown | < 0.5 s |")
    print("|---|---|---|---|---|---|")
    with open_browser() as browser:
        for display in displays:
            if options.only in display.name:
                seen = watch(browser, display)
                print(
                    f"| {display.name} | {seen.flicker:.3f} | {seen.erasure:.2f} | {seen.delay_s:.1f} s"
                    f" | {seen.lost:.1%} | {seen.brief:.1%} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
