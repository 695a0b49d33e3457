"""Draws docs/recording.svg: what a terminal (tmux) shows from ``git clone`` to the last caption, as it moves.

.venv/bin/python docs/scripts/recording.py

The checkout's last commit is cloned into an empty folder, with an empty home folder. It moves without
scripts (SMIL), also as an image on a page; a viewer without animation sees the end.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from rich.cells import cell_len
from rich.color import Color
from rich.style import Style
from rich.terminal_theme import MONOKAI
from rich.text import Text

COLUMNS, ROWS, SERVER = 84, 20, "surtitle-recording"
COMMANDS = ("git clone -q surtitle.git", "cd surtitle", "make demo")
#: Seconds between two looks, and that the end stays.
LOOK_S, REST_S = 0.1, 4.0
#: The prompt after the last command says that all is done.
PROMPT = "$ "
WIDTH, HEIGHT, EDGE = 8.43, 19, 14

Screen = tuple[str, ...]


class Frame(NamedTuple):
    began_s: float
    screen: Screen


def tmux(*arguments: str) -> str:
    """Run one command of a tmux server of its own; its output."""
    command = ["tmux", "-u", "-L", SERVER, "-f", "/dev/null", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def record(folder: Path) -> list[Frame]:
    """Run the commands in ``folder``, and look at the screen until the last one has ended."""
    isolated = [f"PATH={os.environ['PATH']}", f"HOME={folder / 'home'}", "LANG=C.UTF-8", f"PS1={PROMPT}"]
    shell = ["env", "-i", *isolated, "TERM=screen-256color", "bash", "--norc", "--noprofile"]
    tmux("new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), "-c", str(folder), *shell)
    frames = list[Frame]()
    try:
        while PROMPT.rstrip() not in tmux("capture-pane", "-p"):
            time.sleep(LOOK_S)
        began = time.monotonic()
        for command in COMMANDS:
            tmux("send-keys", "-l", command)
            tmux("send-keys", "Enter")
            while True:
                time.sleep(LOOK_S)
                screen = tuple(tmux("capture-pane", "-p", "-e").rstrip("\n").split("\n"))
                if not frames or screen != frames[-1].screen:
                    frames.append(Frame(time.monotonic() - began, screen))
                said = [line for line in Text.from_ansi("\n".join(screen)).plain.split("\n") if line.strip()]
                if said and said[-1].rstrip() == PROMPT.rstrip() and len(said) > 1:
                    break
    finally:
        tmux("kill-server")
    return frames


def lines(frames: list[Frame], end_s: float) -> Iterator[tuple[int, str, list[tuple[float, float]]]]:
    """Each row's texts, with the spans of time in which they stand there."""
    for row in range(ROWS):
        spans: dict[str, list[tuple[float, float]]] = {}
        for one, other in zip(frames, [*frames[1:], Frame(end_s, ())], strict=True):
            text = one.screen[row] if row < len(one.screen) else ""
            before = spans.setdefault(text, [])
            if before and before[-1][1] == one.began_s:
                before[-1] = (before[-1][0], other.began_s)
            else:
                before.append((one.began_s, other.began_s))
        yield from ((row, text, its) for text, its in spans.items() if text.strip())


def spelled(line: str, row: int) -> str:
    """A row as SVG's text, each piece at its column and in its colour."""
    text = Text.from_ansi(line)
    pieces, column = [], 0
    for piece in text.render(_CONSOLE):
        if piece.text.strip():
            style = piece.style or Style()
            colour = (style.color or Color.default()).get_truecolor(MONOKAI)
            look = f' fill="{colour.hex}"' if style.color else ""
            look += ' font-weight="bold"' if style.bold else ""
            look += ' opacity="0.55"' if style.dim else ""
            place = f'x="{EDGE + column * WIDTH:.1f}" textLength="{cell_len(piece.text) * WIDTH:.1f}"'
            pieces.append(f'<tspan {place}{look} xml:space="preserve">{escape(piece.text)}</tspan>')
        column += cell_len(piece.text)
    return f'<text y="{EDGE + (row + 1) * HEIGHT}">{"".join(pieces)}'


def blinking(spans: list[tuple[float, float]], end_s: float) -> str:
    """The animation that shows a text in its spans of time, over and over."""
    states = [(0.0, "hidden")]
    for began, ended in spans:
        states += [(began / end_s, "visible"), (ended / end_s, "hidden")]
    steps = dict(states)  # of two at the same time, the later one
    steps.pop(1.0, None)
    times = ";".join(f"{time:.4f}".rstrip("0").rstrip(".") for time in steps)
    values = ";".join(steps.values())
    return (
        f'<animate attributeName="visibility" calcMode="discrete" keyTimes="{times}" values="{values}" '
        f'dur="{end_s:.1f}s" repeatCount="indefinite"/>'
    )


def drawn(frames: list[Frame]) -> str:
    """The whole SVG."""
    end_s = frames[-1].began_s + REST_S
    width, height = COLUMNS * WIDTH + 2 * EDGE, (ROWS + 1) * HEIGHT + EDGE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
        'font-family="ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="14" '
        'fill="#d9d9d9">',
        '<rect width="100%" height="100%" rx="8" fill="#1e1e1e"/>',
    ]
    for row, text, spans in lines(frames, end_s):
        # Without animation the end is seen.
        look = "" if spans[-1][1] == end_s else ' visibility="hidden"'
        parts.append(
            spelled(text, row).replace("<text", f"<text{look}", 1) + blinking(spans, end_s) + "</text>"
        )
    return "\n".join([*parts, "</svg>\n"])


def main() -> None:
    """Record and draw."""
    docs = Path(__file__).parent.parent
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "home").mkdir()
        subprocess.run(["git", "clone", "-q", "--bare", docs.parent, folder / "surtitle.git"], check=True)
        frames = record(folder)
    (docs / "recording.svg").write_text(drawn(frames))
    print(f"{len(frames)} screens in {frames[-1].began_s:.1f} s")


if __name__ == "__main__":
    from rich.console import Console

    _CONSOLE = Console()
    main()
