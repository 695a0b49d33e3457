"""Draws the pictures of the web pages: docs/web-*.png.

PYTHONPATH=. .venv/bin/python docs/scripts/web_pictures.py [RECORDING [MEETING]]

They are real runs in a real browser. The default models caption the recording: played into a virtual
microphone for three of them, and into the microphone of a browser for the fourth. The meeting is in English
and Portuguese, and two readers follow it. The picture of two speakers replays captions that are written here,
and a name is typed in the control room; without recordings this picture alone is drawn.
"""

import os
import signal
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

from msgspec.json import Encoder
from playwright.sync_api import expect

from operators.events import Caption
from tests.browser import open_browser
from tests.virtual_microphone import VirtualMicrophone

DOCS = Path(__file__).parent.parent
PORT = 8765
ADDRESS = f"http://127.0.0.1:{PORT}"
#: Sentences that are finished when the control room is drawn.
FINISHED = 8
#: Seconds of the meeting before its picture.
MEETING_S = 40.0
#: Longest wait for anything, in milliseconds.
PATIENCE_MS = 120_000
#: Sentences before the one in progress, when the pages of captions are drawn.
BEFORE = 5
# Whether the newest sentence is in progress, with settled words and new ones.
IN_PROGRESS = """before => {
    const all = name => [...document.querySelectorAll(`#captions .text .${name}`)];
    const words = name => all(name).at(-1)?.textContent ?? "";
    return all("settled").length > before && words("settled").length > 20 && words("tentative").length > 4;
}"""
# Something for the overlay to be over: a stage in the evening, drawn by the browser.
STAGE = """() => {
    document.body.style.background = `radial-gradient(circle at 50% 44%, #c9b48a 0 17%, transparent 17.2%),
        linear-gradient(#2b3350 0 70%, #8a6a48 70% 71%, #5b4430 71%)`;
}"""


# What two people say, each sentence with its speaker and its translation.
TALK = (
    ("Anna", "Good evening, and welcome.", "Guten Abend und willkommen."),
    ("2", "Thank you for having me.", "Danke für die Einladung."),
    ("Anna", "You have been diving for thirty years.", "Sie tauchen seit dreißig Jahren."),
    ("Anna", "What has changed?", "Was hat sich verändert?"),
    ("2", "The reefs were full of colour then.", "Damals waren die Riffe voller Farben."),
    ("2", "Some of them come back now.", "Manche erholen sich jetzt."),
    ("Anna", "Which ones?", "Welche?"),
    ("2", "Those more than twenty metres down,", "Die in mehr als zwanzig Metern Tiefe,"),
)  # fmt: skip


def main(recording: Path | None = None, meeting: Path | None = None) -> None:
    """Draw all, or the picture that needs no recording."""
    with TemporaryDirectory() as folder:
        talk = Path(folder, "Open sea.jsonl")
        talk.write_bytes(Encoder().encode_lines(talk_captions()))
        with surtitle("replay", str(talk), "--to", "German", "--web", "--quiet"):
            draw_speakers()
    if recording is not None:
        with TemporaryDirectory(prefix="mic-") as folder:
            microphone = VirtualMicrophone(Path(folder))
            with surtitle(
                "live", "--to", "Portuguese", "--web", "--quiet", environment=microphone.environment
            ):
                microphone.wait_for_listener()
                microphone.play(recording, wait=False)
                draw_viewers("microphone")
            microphone.close()
        with surtitle("serve", "--to", "Portuguese"):
            draw_speaker(recording)
    if meeting is None:
        return
    both = ("--from", "English,Portuguese", "--to", "English,Portuguese")
    with surtitle("file", str(meeting), *both, "--realtime", "--web", "--quiet"):
        draw_meeting(meeting.stem)


@contextmanager
def surtitle(*arguments: str, environment: Mapping[str, str] = os.environ) -> Iterator[None]:
    """A run that serves pages, until it is left."""
    command = [str(Path(sys.executable).with_name("surtitle")), *arguments, "--port", str(PORT)]
    secrets = ("SURTITLE_WEB_TOKEN", "SURTITLE_CONTROL_KEY")
    own = {name: value for name, value in environment.items() if name not in secrets}
    with subprocess.Popen(command, env=own, stdout=subprocess.DEVNULL) as process:
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
        page.wait_for_function(IN_PROGRESS, arg=BEFORE, timeout=PATIENCE_MS)
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
        page.wait_for_function(IN_PROGRESS, arg=BEFORE, timeout=PATIENCE_MS)
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
        pages[0].wait_for_function(IN_PROGRESS, arg=BEFORE, timeout=PATIENCE_MS)
        shots = [b64encode(page.screenshot()).decode() for page in pages]
        both = browser.new_page(viewport={"width": 1300, "height": 630})
        images = "".join(f'<img src="data:image/png;base64,{one}">' for one in shots)
        both.set_content(f'<body style="margin:0;display:flex;gap:20px;background:#888">{images}</body>')
        both.screenshot(path=DOCS / "web-meeting.png")


def talk_captions() -> Iterator[Caption]:
    """The captions of the two; the last sentence goes on, with words that are new."""
    for segment, (speaker, source, shown) in enumerate(TALK):
        is_last, begun = segment == len(TALK) - 1, shown[: len(shown) * 2 // 3].rpartition(" ")[0]
        for revision, text in enumerate((begun, shown) if is_last else (shown,)):
            at_s = 4.0 * segment
            yield Caption(
                stream="Open sea", segment=segment, revision=revision, is_final=not is_last, source=source,
                shown=text, withheld="", speaker=speaker, start_s=at_s, end_s=at_s + 3.6,
                arrival_s=at_s + 3.8, ready_s=at_s + 3.9,
            )  # fmt: skip


def draw_speakers() -> None:
    """Draw the page, an overlay and the control room of a talk of two, one of whom gets a name."""
    stream = f"{ADDRESS}/streams/Open%20sea"
    with open_browser() as browser:
        page = browser.new_page(color_scheme="dark", viewport={"width": 760, "height": 640})
        page.goto(f"{stream}?size=30")
        page.wait_for_function(IN_PROGRESS, arg=BEFORE, timeout=PATIENCE_MS)
        control = browser.new_page(color_scheme="dark", viewport={"width": 1120, "height": 820})
        control.goto(f"{stream}/control")
        control.get_by_label("Name of Sprecher 2").fill("Mara Lind")
        control.keyboard.press("Enter")
        expect(control.get_by_label("Name of Mara Lind")).to_be_visible()
        overlay = browser.new_page(color_scheme="dark", viewport={"width": 520, "height": 292})
        overlay.goto(f"{stream}?overlay=1&fade=0&size=19")
        expect(overlay.locator("#captions .speaker")).to_be_visible()
        overlay.evaluate(STAGE)
        shots = [page.screenshot(), overlay.screenshot(), control.locator("#speaking").screenshot()]
        all_three = browser.new_page(viewport={"width": 1300, "height": 640})
        left, above, below = (f'<img src="data:image/png;base64,{b64encode(one).decode()}">' for one in shots)
        all_three.set_content(
            '<body style="margin:0;display:flex;gap:20px;background:#888">' + left
            + '<div style="flex:1;display:grid;grid-template-rows:292px 1fr;gap:20px">' + above
            + f'<div style="background:#121316;display:grid;place-content:center">{below}</div></div></body>'
        )  # fmt: skip
        all_three.screenshot(path=DOCS / "web-speakers.png")


if __name__ == "__main__":
    main(*(Path(one).resolve() for one in sys.argv[1:3]))
