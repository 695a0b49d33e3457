"""How soon `surtitle live` hears and captions: python -m tests.start [--runs N] [--cold] [OPTION …]

Starts the command in a terminal, and plays sentences of the recorded reading into a virtual microphone: in
one run as soon as that is open, in the next one when the models are loaded. Prints the median seconds, the
least and the most. ``--cold`` empties the page cache before each start, which takes root. OPTIONs are those
of `surtitle live`. Needs PulseAudio, as the tests do, and a machine that does nothing else.
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

from operators.recognizers.moonshine import bundled_recording
from operators.recognizers.windowed import HOP, silero
from tests.virtual_microphone import NAME, VirtualMicrophone

#: Options of `surtitle live`, unless others are given.
USUAL = ["--to", "Portuguese"]
#: Seconds by what they are of.
_Figures = dict[str, float | None]
_LOUD = 0.01
# Hops of the voice detector without voice.
_PAUSE = 10
_RATE = 16_000
# The status line of a run whose models are there.
_READY = re.compile(rb"(?:listening|speech) +\[")
_CONTROL = re.compile(rb"\x1b\[[\d;?]*[A-Za-z]")


class Run:
    """One start of the program; moments are seconds since then, None until they come."""

    def __init__(self, microphone: VirtualMicrophone, options: list[str]) -> None:
        self.opened: float | None = None
        self.ready: float | None = None
        self.spoken: float | None = None
        self.caption: float | None = None
        ears = ["parec", f"--device={NAME}.monitor", "--raw", "--format=s16le", "--latency-msec=10"]
        self._ears = _spawned([*ears, f"--rate={_RATE}", "--channels=1"], microphone)
        assert self._ears.stdout is not None
        # Until it records: what the server tells afterwards is about the program.
        os.read(self._ears.stdout.fileno(), 1)
        self._news = _spawned(["pactl", "subscribe"], microphone)
        time.sleep(0.3)
        command = [str(Path(sys.executable).with_name("surtitle")), "live", *options]
        self._began = time.monotonic()
        self._process, self._screen = pty.fork()
        if not self._process:
            os.execvpe(command[0], command, {**microphone.environment, "TERM": "xterm"})
        for read in (self._listen, self._watch, self._read):
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
        for one in (self._ears, self._news):
            one.kill()
            one.wait()

    def _now(self) -> float:
        return time.monotonic() - self._began

    def _listen(self) -> None:
        """When speech left the virtual microphone: the first loud sample."""
        pipe = self._ears.stdout
        assert pipe is not None
        while data := os.read(pipe.fileno(), 1 << 16):
            samples = np.abs(np.frombuffer(data[: len(data) // 2 * 2], "<i2") / 32768)
            if samples.max(initial=0) > _LOUD:
                self.spoken = self._now() - (len(samples) - int(np.argmax(samples > _LOUD))) / _RATE
                return

    def _watch(self) -> None:
        """When the sound server says that somebody records."""
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
            if self.spoken is not None and self.caption is None and any(map(_is_caption, rows)):
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


def _figures(microphone: VirtualMicrophone, options: list[str], sentence: Path, *, at_once: bool) -> _Figures:
    """Of one start, with the sentence spoken as soon as the microphone is open, or later."""
    run = Run(microphone, options)
    run.until(lambda: run.opened is not None)
    if not at_once:
        run.until(lambda: run.ready is not None)
        time.sleep(1)
    microphone.play(sentence, wait=False)
    run.until(lambda: run.caption is not None)
    microphone.stop_playing()
    run.end()
    assert run.caption is not None
    assert run.spoken is not None
    return {
        "command → microphone open": run.opened,
        "command → models loaded": run.ready,
        "command → caption of what is said at once": run.caption if at_once else None,
        "first sound of a sentence → its first caption": None if at_once else run.caption - run.spoken,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--cold", action="store_true")
    asked, options = parser.parse_known_args()
    found: list[_Figures] = []
    with tempfile.TemporaryDirectory(prefix="mic-") as folder:
        microphone = VirtualMicrophone(Path(folder))
        try:
            sentences = cycle(_sentences(Path(folder)))
            for sentence in islice(sentences, asked.runs):
                for at_once in (False, True):
                    if asked.cold:
                        os.sync()
                        Path("/proc/sys/vm/drop_caches").write_text("3")
                    found.append(_figures(microphone, options or USUAL, sentence, at_once=at_once))
        finally:
            microphone.close()
    for what in found[0]:
        seconds = [one[what] or 0.0 for one in found if one[what] is not None]
        print(f"{median(seconds):6.2f} s  {what}  ({min(seconds):.2f} to {max(seconds):.2f})")


if __name__ == "__main__":
    main()
