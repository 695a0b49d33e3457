"""Runs in a terminal, as their users see them: captions that are replayed, so that no model is needed."""

import json
import sys
from pathlib import Path
from typing import Any

from tests.tmux import Terminal, terminal

SURTITLE = Path(sys.executable).with_name("surtitle")
TEXTS = ["Es war", "Es war die beste aller", "Es war die beste aller Zeiten, es war die schlechteste"]
FINAL = "Es war die beste aller Zeiten, es war die schlechteste aller Zeiten."
SHOWN = ["Es war die beste aller Zeiten, es war die", "schlechteste aller Zeiten."]


def captions(folder: Path, *, segments: int, seconds: float, is_cut: bool = False) -> Path:
    """Captions of some segments, ``seconds`` apart; the last segment lacks its final if it is cut off."""
    lines: list[str] = []
    for segment in range(segments):
        texts = TEXTS if is_cut and segment == segments - 1 else [*TEXTS, FINAL]
        for revision, text in enumerate(texts):
            ready_s = (len(lines) + 1) * seconds
            caption: dict[str, Any] = {
                "event": "caption", "stream": "talk", "segment": segment, "revision": revision,
                "is_final": text == FINAL, "source": "", "shown": text,
                "withheld": "" if text == FINAL else " aller",
                "start_s": 0, "end_s": ready_s, "arrival_s": ready_s, "ready_s": ready_s, "shown_s": 1000,
            }  # fmt: skip
            lines.append(json.dumps(caption) + "\n")
    path = folder / "captions.jsonl"
    path.write_text("".join(lines))
    return path


def ended(window: Terminal) -> list[str]:
    """What is on the screen when the shell says how the command before it ended."""
    return window.until(lambda rows: any(row.startswith("status ") for row in rows))


def shell(command: str) -> str:
    return f"bash --norc -c '{command}; echo status $?; read -r _'"


def test_a_replay_ends_with_plain_captions_and_the_summary(tmp_path: Path) -> None:
    path = captions(tmp_path, segments=2, seconds=0.1)
    saved = tmp_path / "saved.jsonl"
    with terminal(tmp_path, shell(f"{SURTITLE} replay {path} --realtime --captions {saved}")) as window:
        rows = ended(window)
        assert rows[:5] == [*SHOWN, *SHOWN, ""]
        assert rows[5].startswith(" segments  2 of 8 updates")
        assert rows[-1] == "status 0"
        assert not any(window.dim())
    replayed = [json.loads(line) for line in saved.read_text().splitlines()]
    assert all(one["ready_s"] <= one["shown_s"] < one["ready_s"] + 5 for one in replayed)


def test_ctrl_c_leaves_a_clean_screen_with_what_was_open_and_the_summary(tmp_path: Path) -> None:
    path = captions(tmp_path, segments=100, seconds=0.3)
    with terminal(tmp_path, shell(f"{SURTITLE} replay {path} --realtime")) as window:
        window.until(lambda rows: rows[:2] == SHOWN and rows[2:] == ["Es war die beste aller…"])
        window.type("C-c")
        rows = ended(window)
        assert rows[:4] == [*SHOWN, "Es war die beste aller", ""]
        assert rows[4].startswith(" segments  1 of 6 updates")
        assert rows[-1] == "status 0"
        assert not any("^C" in row or "panic" in row or "Traceback" in row for row in rows)
        assert not any(window.dim())


STUCK = """
import time
from threading import Event
from connectors.view import Status
from connectors.terminal import open_screen
from flows.running.interrupts import interrupt_sets

screen, stop = open_screen(), Event()
with interrupt_sets(stop):
    screen.status(Status(state="listening"))
    while True:
        time.sleep(0.01)
        if stop.is_set():
            screen.notice("stopping")
            time.sleep(60)
"""


def test_a_second_ctrl_c_ends_at_once_on_a_line_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "stuck.py").write_text(STUCK)
    with terminal(tmp_path, shell(f"{sys.executable} {tmp_path}/stuck.py")) as window:
        window.until(lambda rows: rows == ["listening"])
        window.type("C-c")
        window.until(lambda rows: rows == ["surtitle: stopping", "listening"])
        window.type("C-c")
        assert ended(window) == ["surtitle: stopping", "listening^C", "status 130"]


def test_a_job_draws_what_is_open_at_its_end(tmp_path: Path) -> None:
    path = captions(tmp_path, segments=2, seconds=0.1, is_cut=True)
    (tmp_path / "job.toml").write_text(f'translate.to = "German"\n[input]\ncaptions = "{path}"\n')
    flow = f'"flows.captions:flow(\\"{tmp_path}/job.toml\\")"'
    command = f"{sys.executable} -m bytewax.run {flow} -w 2".replace('\\"', "'")
    script = tmp_path / "job.sh"
    script.write_text(f"{command}\necho status $?\nread -r _\n")
    with terminal(tmp_path, f"bash --norc {script}") as window:
        assert ended(window) == [*SHOWN, SHOWN[0], "schlechteste", "status 0"]
        assert not any(window.dim())


def test_an_error_comes_after_the_captions(tmp_path: Path) -> None:
    path = captions(tmp_path, segments=2, seconds=0.1, is_cut=True)
    full = tmp_path / "full"
    full.symlink_to("/dev/full")
    with terminal(
        tmp_path, shell(f"{SURTITLE} replay {path} --set output.log={full}"), columns=240
    ) as window:
        rows = ended(window)
        assert rows[-1] == "status 4"
        assert rows[-2].startswith("surtitle: ")
        assert not any("panic" in row or "Traceback" in row for row in rows)
