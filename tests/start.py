"""How soon `surtitle live` hears and captions: python -m tests.start [--runs N] [--cold] [OPTION …]

Starts the command in a terminal, and plays a sentence of the recorded reading into a virtual microphone as
soon as that is open. In a last run, all its sentences are spoken with pauses between. Prints the median
seconds, the least and the most. ``--cold`` empties the page cache before each start, which takes root.
OPTIONs are those of `surtitle live`. Needs PulseAudio, as the tests do, and a machine that does nothing else.
"""

import argparse
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from statistics import median

import numpy as np
import soundfile
import soxr  # type: ignore[import-untyped] # ships no stubs

from connectors.jsonl.files import read_events
from operators.events import Caption
from operators.recognizers.moonshine import bundled_recording
from operators.recognizers.segmenter import HOP, RULES, silero
from tests.virtual_microphone import VirtualMicrophone

#: Options of `surtitle live`, unless others are given.
USUAL = ["--to", "Portuguese"]
# Hops of the voice detector without voice, and seconds between sentences of the talk.
_PAUSE, _PAUSE_S = 10, 2.5
_RATE = 16_000
# The status line of a run whose models are there.
_READY = re.compile(rb"(?:listening|speech) +\[")
_CONTROL = re.compile(rb"\x1b\[[\d;?]*[A-Za-z]")


class Run:
    """One start of the program; moments are seconds since then, None until they come."""

    def __init__(self, microphone: VirtualMicrophone, options: list[str]) -> None:
        self.opened: float | None = None
        self.ready: float | None = None
        self.caption: float | None = None
        self._news = _spawned(["pactl", "subscribe"], microphone)
        time.sleep(0.3)
        command = [str(Path(sys.executable).with_name("surtitle")), "live", *options]
        self._began = time.monotonic()
        self._process, self._screen = pty.fork()
        if not self._process:
            os.execvpe(command[0], command, {**microphone.environment, "TERM": "xterm"})
        for read in (self._watch, self._read):
            threading.Thread(target=read, daemon=True).start()

    def until(self, is_there: Callable[[], bool], within_s: float = 60) -> None:
        deadline = time.monotonic() + within_s
        while not is_there():
            if time.monotonic() > deadline:
                raise SystemExit(f"nothing came within {within_s} s: {vars(self)}")
            time.sleep(0.005)

    def end(self) -> None:
        os.kill(self._process, signal.SIGINT)
        os.waitpid(self._process, 0)
        self._news.kill()
        self._news.wait()

    def _now(self) -> float:
        return time.monotonic() - self._began

    def _watch(self) -> None:
        """Note when the sound server reports a recording."""
        pipe = self._news.stdout
        assert pipe is not None
        for line in pipe:
            if b"'new' on source-output" in line:
                self.opened = self._now()
                return

    def _read(self) -> None:
        """What the terminal shows, and when."""
        seen = b""
        while True:
            try:
                seen += os.read(self._screen, 1 << 16)
            except OSError:
                return
            now, text = self._now(), _CONTROL.sub(b"", seen)
            if self.ready is None and _READY.search(text):
                self.ready = now
            rows = re.split(rb"[\r\n]+", text)
            if self.caption is None and any(map(_is_caption, rows)):
                self.caption = now


def _is_caption(row: bytes) -> bool:
    """Whether it has words of a caption, and is no status, no progress and no message."""
    text = row.decode("utf-8", "replace").strip(" …")
    return bool(text) and not any(mark in text for mark in ("loading", "[", "surtitle:", "^C"))


def _spawned(command: list[str], microphone: VirtualMicrophone) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        command, env=microphone.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )


def _sentences(folder: Path) -> list[Path]:
    """Recordings that begin with the first sound behind a pause."""
    samples, rate = soundfile.read(bundled_recording(), dtype="float32")
    speech, detect, hop = soxr.resample(samples, rate, _RATE), silero(), HOP
    voiced = [detect(speech[at : at + hop]) > 0.5 for at in range(0, len(speech) - hop, hop)]
    begins = [at for at in range(_PAUSE, len(voiced)) if voiced[at] and not any(voiced[at - _PAUSE : at])]
    paths = []
    for number, at in enumerate(begins):
        paths.append(folder / f"{number}.wav")
        soundfile.write(paths[-1], speech[(at - 1) * hop :][: 6 * _RATE], _RATE)
    return paths


def _start(microphone: VirtualMicrophone, options: list[str], sentence: Path) -> dict[str, float | None]:
    """Measure one start, with the sentence spoken as soon as the microphone is open."""
    run = Run(microphone, options)
    run.until(lambda: run.opened is not None)
    microphone.play(sentence, wait=False)
    run.until(lambda: run.caption is not None and run.ready is not None)
    microphone.stop_playing()
    run.end()
    return {
        "command → microphone open": run.opened,
        "command → models loaded": run.ready,
        "command → caption of what is said at once": run.caption,
    }


def _first_captions(microphone: VirtualMicrophone, options: list[str], talk: Path) -> list[float]:
    """Seconds from the first sound of each utterance to its first words on the terminal."""
    log = talk.with_suffix(".jsonl")
    run = Run(microphone, [*options, "--captions", str(log)])
    run.until(lambda: run.ready is not None)
    time.sleep(1)
    microphone.play(talk, wait=False)
    time.sleep(soundfile.info(talk).duration + 3)
    run.end()
    first: dict[int, Caption] = {}
    for one in read_events(log, Caption):
        if one.shown:
            first.setdefault(one.segment, one)
    # An utterance begins with some sound from before its first voice.
    return [(one.shown_s or one.ready_s) - (one.start_s + RULES.before_s) for one in first.values()]


def _talk(sentences: list[Path], path: Path) -> Path:
    """All sentences, with pauses between them that end every sentence."""
    pause = np.zeros(round(_PAUSE_S * _RATE), np.float32)
    parts = [part for one in sentences for part in (soundfile.read(one, dtype="float32")[0], pause)]
    soundfile.write(path, np.concatenate(parts), _RATE)
    return path


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--cold", action="store_true")
    asked, given = parser.parse_known_args()
    options, found = given or USUAL, list[dict[str, float | None]]()
    with tempfile.TemporaryDirectory(prefix="mic-") as folder:
        microphone = VirtualMicrophone(Path(folder))
        try:
            sentences = _sentences(Path(folder))
            for sentence in islice(cycle(sentences), asked.runs):
                if asked.cold:
                    os.sync()
                    Path("/proc/sys/vm/drop_caches").write_text("3")
                found.append(_start(microphone, options, sentence))
            words = _first_captions(microphone, options, _talk(sentences, Path(folder) / "talk.wav"))
        finally:
            microphone.close()
    for what in found[0]:
        _tell(what, [one[what] or 0.0 for one in found])
    _tell(f"first sound of an utterance → its first words, of {len(words)}", words)


def _tell(what: str, seconds: list[float]) -> None:
    print(f"{median(seconds):6.2f} s  {what}  ({min(seconds):.2f} to {max(seconds):.2f})")


if __name__ == "__main__":
    main()
