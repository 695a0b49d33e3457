"""A program in a real terminal: tmux, with a server of its own; and an output that says it is a terminal."""

import io
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import regex


class Terminal:
    def __init__(self, folder: Path) -> None:
        self._tmux = ["tmux", "-S", str(folder / "tmux")]

    def start(self, command: str, columns: int, rows: int) -> None:
        size = ["-x", str(columns), "-y", str(rows)]
        self._run("-u", "-f", "/dev/null", "new-session", "-d", *size, command)

    def type(self, *keys: str) -> None:
        self._run("send-keys", *keys)

    def resize(self, columns: int, rows: int) -> None:
        self._run("resize-window", "-x", str(columns), "-y", str(rows))

    def rows(self) -> list[str]:
        """What is on the screen, without the empty rows at its end."""
        return self._run("capture-pane", "-p").rstrip("\n").split("\n")

    def history(self) -> list[str]:
        """The rows on the screen, and all that have scrolled out of it."""
        return self._run("capture-pane", "-p", "-S", "-").rstrip("\n").split("\n")

    def dim(self) -> list[str]:
        """The dim part of each row."""
        dim, parts = False, [""]
        for code in regex.findall(r"\x1b\[[\d;]*m|.", self._run("capture-pane", "-p", "-e"), regex.DOTALL):
            if code.startswith("\x1b"):
                dim = "2" in code[2:-1].split(";") or (dim and code[2:-1] not in ("", "0", "22"))
            elif code == "\n":
                parts.append("")
            else:
                parts[-1] += code * dim
        return [part.strip() for part in parts]

    def until(self, is_there: Callable[[list[str]], bool], seconds: float = 30) -> list[str]:
        """The screen as soon as it is as expected, or when the time is over."""
        deadline = time.monotonic() + seconds
        while True:
            rows = self.rows()
            if is_there(rows) or time.monotonic() > deadline:
                return rows
            time.sleep(0.02)

    def until_rows(self, *rows: str) -> None:
        wanted = list(rows)
        assert self.until(lambda seen: seen == wanted, 10) == wanted

    def _run(self, *arguments: str) -> str:
        done = subprocess.run([*self._tmux, *arguments], capture_output=True, check=True, timeout=60)
        return done.stdout.decode()

    def end(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], check=False, timeout=60, capture_output=True)


@contextmanager
def terminal(folder: Path, command: str, columns: int = 80, rows: int = 24) -> Iterator[Terminal]:
    """``command`` in a terminal, until the test is over; ``folder`` is for this terminal only."""
    window = Terminal(folder)
    window.start(command, columns, rows)
    try:
        yield window
    finally:
        window.end()


class Tty(io.StringIO):
    """An output that says it is a terminal and remembers what came at once."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[str] = []

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.sent.append(text)
        return super().write(text)
