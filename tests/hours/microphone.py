"""A live run on the default settings that is ended again and again, as it hears real speech by PulseAudio.

At the end every final stands once in every file, and times are those of the sound to 0.1 s.
"""

import argparse
import contextlib
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray

from operators.events import SAMPLE_RATE, AudioChunk
from operators.recognizers.moonshine import moonshine_recognizer
from operators.recognizers.protocol import Hypothesis
from tests.chaos.trial import (
    LINES,
    SUBTITLES,
    SURTITLE,
    Said,
    Trial,
    finals,
    is_free,
    lines,
    outputs,
    port,
    see,
    see_same_finals,
)
from tests.hours.watch import Sample, Watch, faults, series
from tests.virtual_microphone import VirtualMicrophone

Samples = NDArray[np.float32]

_SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
#: How far times may be from those of the sound.
_TRUE_S = 0.1
_PAUSE_S = 0.7


def add_options(parser: argparse.ArgumentParser) -> None:
    """Of this scenario."""
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--every", type=float, default=150.0, help="seconds between two signals, about")


def run(trial: Trial, given: argparse.Namespace) -> list[str]:
    """Listen, disturb, judge."""
    runs: list[Sequence[Sample]] = []
    with tempfile.TemporaryDirectory(prefix="mic", dir="/tmp") as short:
        microphone = VirtualMicrophone(Path(short))
        try:
            ends = _ended(trial, microphone, given, runs)
        finally:
            microphone.close()
    print(f"{len(ends)} starts: {dict(Counter(ends))}", flush=True)
    _judge(trial, len(ends))
    return faults("microphone", series(runs))


def _talk(path: Path, seconds: float) -> None:
    """Real speech over and over, with pauses."""
    said = []
    for name in ("two_cities", "beckett"):
        samples, rate = soundfile.read(files("moonshine_voice") / "assets" / f"{name}.wav", dtype="int16")
        said += [samples[:: rate // SAMPLE_RATE], np.zeros(round(_PAUSE_S * SAMPLE_RATE), np.int16)]
    once = np.concatenate(said)
    soundfile.write(path, np.tile(once, 1 + int(seconds * SAMPLE_RATE / len(once))), SAMPLE_RATE)


def _ended(
    trial: Trial, microphone: VirtualMicrophone, given: argparse.Namespace, runs: list[Sequence[Sample]]
) -> list[str]:
    """Speak, and end the run again and again; how it ended each time, and in ``runs`` what was seen of it."""
    talk = trial.folder / "talk.wav"
    _talk(talk, given.seconds + 600)
    heard = {"partials": "partials.jsonl", "audio": "heard.wav"}
    files = {**LINES, **SUBTITLES, **heard, "sentences": "sentences.jsonl"}
    over = time.monotonic() + given.seconds
    ends: list[str] = []
    while True:
        process = trial.start(
            SURTITLE, "live", *outputs(files), "--recovery", "run", "--web", "--port", 0,
            "--set", "metrics.listen=0",
            *given.options, environment=microphone.environment, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        said = Said(process.stderr)
        microphone.wait_for_listener(300)
        if not ends:
            microphone.play(talk, wait=False)
        ends_at = min(over, time.monotonic() + trial.random.uniform(0.3, 1.7) * given.every)
        with Watch(process.pid, trial.folder / "log.jsonl") as watch:
            _look(process, said, ends_at)
        runs.append(watch.samples)
        number = signal.SIGINT if ends_at == over else trial.random.choice(_SIGNALS)
        process.send_signal(number)
        said.close()
        trial.end(process, 120)
        _see_ended(trial, process, number, said.text)
        ends.append(number.name)
        if ends_at == over:
            return ends


def _look(process: "subprocess.Popen[str]", said: Said, until: float) -> None:
    """Watch a run as a supervisor and a viewer do, until it is time to end it."""
    while time.monotonic() < until:
        see(process.poll() is None, f"it ended by itself with {process.returncode}:", said.text)
        for what, path in (("captions", "/streams/microphone"), ("metrics", "/healthz")):
            at = port(said.text, what)
            if at is not None:
                # That it fails for a while on a busy machine is no matter here.
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(f"http://127.0.0.1:{at}{path}", timeout=20).read()
        time.sleep(min(5.0, max(0.0, until - time.monotonic())))


def _see_ended(trial: Trial, process: "subprocess.Popen[str]", number: signal.Signals, said: str) -> None:
    expected = -number if number == signal.SIGKILL else 0
    see(process.returncode == expected, f"{number.name} ended it with {process.returncode}:", said)
    see("Traceback" not in said, said)
    for what in ("captions", "metrics"):
        at = port(said, what)
        see(at is None or is_free(at), f"the port of the {what} is still taken")
    trial.see_unlocked()
    at_s = lines(trial.folder / "captions.jsonl")[-1:]
    print(f"{number.name}, the newest caption at {at_s[0]['end_s'] if at_s else 0:.1f} s", flush=True)


def _judge(trial: Trial, starts: int) -> None:
    folder = trial.folder
    names = [*LINES.values(), "sentences.jsonl", "partials.jsonl"]
    events = see_same_finals(folder, names, is_joined=True)
    print(f"{len(finals(events['captions.jsonl']))} finals, each once in each file", flush=True)
    heard, rate = soundfile.read(folder / "heard.wav", dtype="float32")
    see(rate == SAMPLE_RATE, f"heard.wav has {rate} samples a second")
    talk, _ = soundfile.read(folder / "talk.wav", dtype="float32")
    _see_clock(heard, talk, starts)
    _see_times([one for one in events["partials.jsonl"] if one["is_final"]], heard, starts)


def _see_clock(heard: Samples, talk: Samples, starts: int) -> None:
    """See that between two starts the stream's clock runs as the sound did, whatever was lost."""
    once = talk[: round((44.374 + 9.963 + 2 * _PAUSE_S) * SAMPLE_RATE)]
    spectrum = np.fft.rfft(np.concatenate((once, once)), 2**21)
    lags: list[float] = []
    size = 4 * SAMPLE_RATE
    for start in range(0, len(heard) - size, 5 * SAMPLE_RATE):
        piece = heard[start : start + size]
        if np.sqrt(np.mean(piece**2)) < 0.01:
            continue
        match = np.fft.irfft(spectrum * np.conj(np.fft.rfft(piece, 2**21)))[: len(once)]
        lags.append((int(np.argmax(match)) - start) % len(once) / SAMPLE_RATE)
    clocks = 1 + sum(abs(one - other) > _TRUE_S for one, other in pairwise(lags))
    print(f"{len(lags)} places of the sound lie as they were said, on {clocks} clocks", flush=True)
    # A window across a restart may match neither side.
    see(clocks <= 2 * starts + 1, f"the clock jumped {clocks} times in {starts} starts: {lags}")


def _see_times(ended: list[dict[str, Any]], heard: Samples, starts: int) -> None:
    """See that segments begin and end where the recogniser finds them in the recorded sound."""
    recognizer = moonshine_recognizer()
    found: list[Hypothesis] = []
    step = SAMPLE_RATE // 10
    for start in range(0, len(heard), step):
        pcm = (heard[start : start + step] * 32768).astype("<i2").tobytes()
        found += recognizer.accept(AudioChunk(stream="again", start_s=start / SAMPLE_RATE, pcm=pcm))
    found += recognizer.finish()
    recognizer.close()
    # Whether a short pause parts two segments may depend on the millisecond at which a restart began.
    starts_s = np.array([one.start_s for one in found if one.is_final])
    ends_s = np.array([one.end_s for one in found if one.is_final])
    off = [
        (one["segment"], one["start_s"], one["end_s"], one["text"])
        for one in ended
        if np.abs(starts_s - one["start_s"]).min() > _TRUE_S or np.abs(ends_s - one["end_s"]).min() > _TRUE_S
    ]
    print(f"{len(ended) - len(off)} of {len(ended)} finals are where they are heard; not: {off}", flush=True)
    # What was said when a run ended is two segments, or the beginning of one; so it is where sound was lost.
    most = 2 * starts + len(ended) // 20
    see(len(off) <= most, f"{len(off)} finals are not where they are heard, and no more than {most} may be")
