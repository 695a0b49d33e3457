"""Draws docs/captions.svg: a real run of ``surtitle file`` in a real terminal (tmux), at one moment of it.

.venv/bin/python docs/scripts/picture.py RECORDING SECONDS
"""

import re
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

COLUMNS, ROWS, SERVER = 64, 12, "surtitle-picture"


def tmux(*arguments: str) -> str:
    """Run one command of a tmux server of its own; its output."""
    command = ["tmux", "-u", "-L", SERVER, "-f", "/dev/null", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main(recording: str, seconds: float) -> None:
    """Play ``recording`` in real time and draw the terminal after ``seconds``."""
    command = f"{Path(sys.executable).with_name('surtitle')} file '{recording}' --to Portuguese --realtime"
    tmux("new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), command)
    try:
        time.sleep(seconds)
        screen = tmux("capture-pane", "-p", "-e")
    finally:
        tmux("kill-server")
    console = Console(record=True, width=COLUMNS, file=sys.stdout)
    # The empty line at the end leaves room for the descenders of the one above it.
    command = "$ surtitle file two_cities.wav --to Portuguese --realtime"
    console.print(Text.from_ansi(f"{command}\n{screen.rstrip()}\n"))
    svg = console.export_svg(title="surtitle")
    # A picture in the documentation asks no other host for a font.
    svg = re.sub(r"@font-face {.*?}", "", svg, flags=re.DOTALL)
    (Path(__file__).parent.parent / "captions.svg").write_text(svg)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
