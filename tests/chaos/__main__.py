"""Disturbs runs by signals, with every kind of input: they end well, and the next start goes on.

``python -m tests.chaos`` prints the seeds that failed. ``SURTITLE_CHAOS_SEED`` is the first of them, and
``SURTITLE_CHAOS_S`` are the seconds that it takes: a seed that failed is tried again with 0.
"""

import fcntl
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import srt
import webvtt

from tests.killing import heed_signals, recording, speech, wait_for_growth
from tests.program import ROOT, SURTITLE
from tests.tiny_gguf import pieces, write_model
from tests.waiting import size

_LINES = ("captions.jsonl", "log.jsonl", "translations.jsonl")
_OUTPUTS = (*_LINES, "talk.srt", "talk.vtt")
#: Signals that ask for an end, those that leave no time for one, and what happens beside signals.
_ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SUDDEN = (signal.SIGKILL, signal.SIGQUIT)
_OTHERS = ("no reader", "pause", "twice")
#: Seconds in which a run that was asked to end has to: the machine may be busy.
_PATIENCE_S = 90.0
_SEGMENTS, _SECONDS = 25, 30


class _Input(NamedTuple):
    """What a run hears or reads; whether that has an end, and the same captions each time."""

    command: str
    program: Sequence[str] = (sys.executable, "-m", "tests.chaos.program")
    has_end: bool = True
    is_exact: bool = True


_INPUTS = {
    "partials": _Input("replay speech.jsonl"),
    "llama": _Input("replay speech.jsonl --model model.gguf --set translate.threads=1", [SURTITLE]),
    "audio": _Input("file talk.wav --set output.partials=partials.jsonl", is_exact=False),
    "microphone": _Input(
        "live --set output.partials=partials.jsonl --set output.audio=heard.wav",
        has_end=False,
        is_exact=False,
    ),
}


class _Trial:
    """A run in a folder of its own that is disturbed, perhaps again and again."""

    def __init__(self, folder: Path, random: Random) -> None:
        self.folder, self.random = folder, random
        self._log = folder / "log.jsonl"
        name = random.choice(list(_INPUTS))
        self._given = _INPUTS[name]
        self._is_remembered, self._is_joined = random.random() < 0.7, random.random() < 0.5
        self._command = [*self._given.program, *self._given.command.split(), "--to", "German"]
        for file in _OUTPUTS:
            key = Path(file).stem if file in _LINES else Path(file).suffix[1:]
            self._command += ["--set", f"output.{key}={file}"]
        if self._is_remembered:
            self._command += ["--recovery", "run", "--settings", "often.toml"]
        if not self._is_joined:
            self._command += ["--set", "sentences.method=off"]
        if random.random() < 0.5:
            self._command += ["--set", "metrics.listen=0"]
            # With an audience a replay stays when it is over: somebody has to end it.
            self._command += [] if self._given.has_end else ["--web", "--port", "0"]
        #: What was done, for the one who looks for what went wrong.
        self.notes = [name, "with recovery" if self._is_remembered else "without recovery"]

    def attempt(self) -> None:
        speech(self.folder / "speech.jsonl", _SEGMENTS)
        recording(self.folder / "talk.wav", _SECONDS)
        write_model(self.folder / "model.gguf", pieces({}))
        (self.folder / "often.toml").write_text("[recovery]\ninterval_s = 0.1\n")
        for _ in range(self.random.randint(1, 3) if self._is_remembered else 1):
            if self._disturbed():
                break
        if self._is_remembered:
            self._finish()
            self._check_finals()

    def _disturbed(self) -> bool:
        """Start the run and disturb it; whether it came to its own end."""
        random = self.random
        kinds: list[signal.Signals | str] = [*_ASKING, *_ASKING, *_SUDDEN, *_OTHERS]
        what = random.choice(kinds)
        self.notes.append(what if isinstance(what, str) else what.name)
        before = size(self._log)
        with self._started() as process:
            if random.random() < 0.3:
                time.sleep(random.uniform(0.0, 1.5))
            else:
                wait_for_growth(self._log, process, before)
                time.sleep(random.uniform(0.0, 1.0))
            has_begun = size(self._log) > before
            self._disturb(process, what)
            code, stderr = self._end(process)
        allowed = _allowed(what, has_begun=has_begun)
        assert code in allowed, f"exit code {code}, not {allowed}: {stderr}"
        assert code in (4, -signal.SIGKILL, -signal.SIGQUIT) or "Error" not in stderr, stderr
        for port in re.findall(r"at http://[^/]*:(\d+)", stderr):
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", int(port)))
        return code == 0 and what not in (*_ASKING, "pause", "twice")

    def _disturb(self, process: "subprocess.Popen[str]", what: signal.Signals | str) -> None:
        random = self.random
        to_group = random.random() < 0.5

        def send(number: signal.Signals) -> None:
            with suppress(ProcessLookupError):
                (os.killpg if to_group else os.kill)(process.pid, number)

        match what:
            case "pause":
                send(signal.SIGSTOP)
                time.sleep(random.uniform(0.1, 2.0))
                send(signal.SIGCONT)
                time.sleep(random.uniform(0.0, 1.0))
                send(signal.SIGTERM)
            case "no reader":
                assert process.stdout is not None
                process.stdout.close()
                process.stdout = None
                if not self._given.has_end:
                    time.sleep(random.uniform(0.0, 5.0))
                    send(signal.SIGTERM)
            case "twice":
                send(random.choice(_ASKING))
                time.sleep(random.uniform(0.0, 0.3))
                send(random.choice(_ASKING))
            case signal.Signals():
                send(what)

    def _finish(self) -> None:
        before = size(self._log)
        with self._started() as process:
            if not self._given.has_end:
                wait_for_growth(self._log, process, before)
                process.send_signal(signal.SIGINT)
            code, stderr = self._end(process)
        assert code == 0, f"the last start ended with {code}: {stderr}"

    @contextmanager
    def _started(self) -> Iterator["subprocess.Popen[str]"]:
        """The run in a session of its own, of which nothing is left in the end."""
        process = subprocess.Popen(
            self._command, cwd=self.folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True,
            errors="replace", start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _end(self, process: "subprocess.Popen[str]") -> tuple[int, str]:
        """Wait for the end, and see that it is no defect, and that files are whole and not locked."""
        try:
            _, stderr = process.communicate(timeout=_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGUSR2)
            time.sleep(1.0)
            process.kill()
            raise AssertionError(f"it did not end:\n{process.communicate()[1]}") from None
        self.notes.append(f"ended with {process.returncode}: {stderr.strip()[-200:]}")
        assert process.returncode != 70, stderr
        assert "Traceback" not in stderr, stderr
        deadline = time.monotonic() + 5
        while left := _group(process.pid):
            assert time.monotonic() < deadline, f"processes were left running: {left}"
            time.sleep(0.05)
        for path in (self.folder, *self.folder.rglob("*")):
            file = os.open(path, os.O_RDONLY)
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.close(file)
        for name in (*_OUTPUTS, "partials.jsonl"):
            if size(self.folder / name):
                _records(self.folder / name)
        return process.returncode, stderr

    def _check_finals(self) -> None:
        """Every segment or sentence ended once in each file, and times go on."""
        events = {name: _records(self.folder / name) for name in _LINES}
        ended = {name: [one["segment"] for one in some if one["is_final"]] for name, some in events.items()}
        for name, numbers in ended.items():
            assert numbers == ended["captions.jsonl"], f"{name} has the finals {numbers}"
            # They have gaps where segments were joined.
            rising = sorted({0, *numbers}) if self._is_joined and numbers else list(range(len(numbers)))
            assert numbers == rising, f"{name} has the finals {numbers}"
        finals = [one for one in events["captions.jsonl"] if one["is_final"]]
        shown = sorted(" ".join(one["shown"] for one in finals).split())
        for name in ("talk.srt", "talk.vtt"):
            words = " ".join(_records(self.folder / name)).split()
            assert sorted(words) == shown, f"{name} does not say what the captions say"
        ends = [0.0, *(one["end_s"] for one in finals)]
        for one, end_s in zip(finals, ends, strict=False):
            assert one["start_s"] >= end_s - 0.01, f"segment {one['segment']} begins before the last ended"
        if self._given.is_exact:
            assert self._is_joined or len(finals) == _SEGMENTS, f"{len(finals)} finals"
            assert ends[-1] == _records(self.folder / "speech.jsonl")[-1]["end_s"]
            for name, some in events.items():
                updates = [(one["segment"], one["revision"]) for one in some]
                assert updates == sorted(set(updates)), f"{name} has updates twice, or in another order"


def _allowed(what: signal.Signals | str, *, has_begun: bool) -> list[int]:
    """The exit codes that are promised."""
    asked = [sign for one in _ASKING for sign in (-one, 128 + one)]
    match what:
        case signal.SIGKILL | signal.SIGQUIT:
            # Unless it was over before.
            return [0, -what]
        case "no reader":
            return [0, 4, -signal.SIGTERM]
        case "twice":
            return [0, *asked]
    return [0] if has_begun else [0, *asked]


def _group(group: int) -> list[str]:
    """The processes of a group that still run."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, _, rest = stat.read_text().rpartition(")")
            state, _, its_group = rest.split()[:3]
            if int(its_group) == group and state != "Z":
                found.append(name)
    return found


def _records(path: Path) -> list[Any]:
    """The events or cues of a file, which is whole."""
    text = path.read_text()
    assert "\0" not in text, f"{path.name} has a hole"
    if path.suffix == ".vtt":
        return [one.text for one in webvtt.read(str(path)).captions]
    if path.suffix == ".srt":
        found = list(srt.parse(text, ignore_errors=False))
        assert [one.index for one in found] == list(range(1, len(found) + 1)), f"{path.name} has gaps"
        return [one.content for one in found]
    assert text.endswith("\n") or not text, f"{path.name} ends in the middle of a line"
    return [json.loads(line) for line in text.splitlines()]


def _holds(seed: int) -> bool:
    with TemporaryDirectory(prefix="surtitle-chaos-", ignore_cleanup_errors=True) as folder:
        trial = _Trial(Path(folder), Random(seed))
        try:
            trial.attempt()
        except Exception:  # noqa: BLE001 - whatever it is, the other trials go on
            again = f"SURTITLE_CHAOS_SEED={seed} SURTITLE_CHAOS_S=0 python -m tests.chaos"
            print(f"BROKEN: {traceback.format_exc()}", *trial.notes, again, sep="\n    ", flush=True)
            return False
    return True


def main() -> int:
    heed_signals()
    first = int(os.environ.get("SURTITLE_CHAOS_SEED") or secrets.randbelow(10**9))
    deadline = time.monotonic() + float(os.environ.get("SURTITLE_CHAOS_S") or 600)
    broken = []
    for seed in count(first):
        if not _holds(seed):
            broken.append(seed)
        if time.monotonic() >= deadline:
            break
    print(f"{seed + 1 - first} trials from seed {first} on, broken: {broken or 'none'}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
