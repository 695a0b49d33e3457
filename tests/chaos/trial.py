"""One trial: a folder, a seed, processes that are looked after, and what must hold at its end."""

import contextlib
import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import srt
import webvtt

ROOT = Path(__file__).parent.parent.parent
#: The program, and the program with toys for its models.
SURTITLE = (str(Path(sys.executable).with_name("surtitle")),)
TOYS = (sys.executable, "-m", "tests.chaos.program")
#: Files that a run writes, by setting; JSON lines among them.
LINES = {"captions": "captions.jsonl", "log": "log.jsonl", "translations": "translations.jsonl"}
SUBTITLES = {"srt": "talk.srt", "vtt": "talk.vtt"}


def outputs(files: Mapping[str, str | Path]) -> list[str]:
    """The options for these outputs."""
    return [one for key, path in files.items() for one in ("--set", f"output.{key}={path}")]


#: Seconds in which a run that was asked to end has to: the machine may be busy.
PATIENCE_S = 90.0


class Broken(AssertionError):  # noqa: N818 - as one says it
    """Something does not hold; the message says what."""


def see(what: object, *told: object) -> None:
    """Raise `Broken` unless something holds."""
    if not what:
        raise Broken(" ".join(str(one) for one in told))


class Ended(NamedTuple):
    """A process that is over."""

    code: int
    stdout: str
    stderr: str


class Trial:
    """A trial; in a ``with`` block, at whose end nothing of it may be left running."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = Random(seed)
        self._temporary = tempfile.TemporaryDirectory(prefix="surtitle-chaos-", ignore_cleanup_errors=True)
        self.folder = Path(self._temporary.name)
        self._processes: list[subprocess.Popen[str]] = []
        #: What its processes find in their environment.
        self.environment: dict[str, str] = dict(os.environ)
        #: What was done, for the one who looks for what went wrong.
        self.notes: list[str] = []

    def __enter__(self) -> "Trial":
        return self

    def __exit__(self, *_how: object) -> None:
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=10)
        self._temporary.cleanup()

    def note(self, *what: object) -> None:
        """Remember what was done."""
        self.notes.append(" ".join(str(one) for one in what))

    def start(self, program: Sequence[str], *arguments: object, **options: Any) -> "subprocess.Popen[str]":
        """Start a program in the trial's folder, in a session of its own."""
        paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        environment = {**self.environment, "PYTHONPATH": paths, **options.pop("environment", {})}
        options = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
        } | options
        process = subprocess.Popen(
            [*program, *map(str, arguments)], cwd=self.folder, env=environment, text=True, errors="replace",
            start_new_session=True, **options,
        )  # fmt: skip
        self._processes.append(process)
        return process

    def end(self, process: "subprocess.Popen[str]", within_s: float = PATIENCE_S) -> Ended:
        """Wait for the end of a process, and see that nothing of it is left and that it is no defect."""
        try:
            # A stream that the trial writes to a file is None here.
            stdout, stderr = (text or "" for text in process.communicate(timeout=within_s))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGUSR2)
            time.sleep(1.0)
            process.kill()
            told = process.communicate()[1]
            raise Broken(f"it did not end within {within_s:.0f} s:\n{told}") from None
        see(process.returncode != 70 and "Traceback" not in stderr, f"a defect:\n{stderr}")
        self.see_nothing_left(process)
        return Ended(process.returncode, stdout, stderr)

    def see_nothing_left(self, process: "subprocess.Popen[str]") -> None:
        """See that a process left no child behind."""
        deadline = time.monotonic() + 5
        while left := _group(process.pid):
            see(time.monotonic() < deadline, "processes were left running:", left)
            time.sleep(0.05)

    def see_unlocked(self) -> None:
        """See that nobody holds a file or folder of the trial any more."""
        for path in (self.folder, *self.folder.rglob("*")):
            if path.is_symlink() or not (path.is_file() or path.is_dir()):
                continue
            file = os.open(path, os.O_RDONLY)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Broken(f"{path.name} is still locked") from None
            finally:
                os.close(file)


def _group(group: int) -> list[str]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, _, rest = stat.read_text().rpartition(")")
            state, _, its_group = rest.split()[:3]
            if int(its_group) == group and state != "Z":
                found.append(f"{name}) {state}")
    return found


def heed_signals() -> None:
    """Heed the signals that a shell lets background programs ignore, as nohup does.

    Programs that are started from now on heed them as well; otherwise they would inherit the neglect.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def port(stderr: str, what: str) -> int | None:
    """The port at which a run says that it serves captions, or metrics."""
    found = re.search(rf"{what} at http://[^/]*:(\d+)", stderr)
    return int(found[1]) if found else None


def is_free(number: int) -> bool:
    """Whether a port can be listened on."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", number))
        except OSError:
            return False
        return True


def lines(path: Path) -> list[dict[str, Any]]:
    """The events of a file, which has whole lines and nothing else."""
    data = path.read_bytes()
    see(not data or data.endswith(b"\n"), f"{path.name} ends in the middle of a line: {data[-80:]!r}")
    see(b"\0" not in data, f"{path.name} has a hole")
    try:
        return [json.loads(line) for line in data.decode().splitlines()]
    except ValueError as error:
        raise Broken(f"{path.name} is no file of JSON lines: {error}") from None


def cues(path: Path) -> list[str]:
    """The texts of a subtitle file, which is whole and valid; SubRip's numbers have no gap."""
    text = path.read_text()
    see("\0" not in text, f"{path.name} has a hole")
    if path.suffix == ".vtt":
        see(text.startswith("WEBVTT\n"), f"{path.name} has no header: {text[:40]!r}")
        return [one.text for one in webvtt.read(str(path)).captions]
    found = list(srt.parse(text, ignore_errors=False))
    see([one.index for one in found] == list(range(1, len(found) + 1)), f"{path.name} has gaps")
    return [one.content for one in found]


def finals(events: Sequence[dict[str, Any]]) -> list[int]:
    """The segments that ended, in the order in which they did."""
    return [event["segment"] for event in events if event["is_final"]]


def follow(numbers: Sequence[int], *, is_joined: bool) -> bool:
    """Whether the numbers of what ended rise from 0; they have gaps where segments were joined."""
    return list(numbers) == (sorted({0, *numbers}) if is_joined and numbers else list(range(len(numbers))))


def see_same_finals(
    folder: Path, names: Sequence[str], *, is_joined: bool
) -> dict[str, list[dict[str, Any]]]:
    """See that every segment or sentence ended once in each of these files, and in subtitles; the events.

    What was heard, in ``partials.jsonl``, ends where the recogniser says, and not where sentences do.
    """
    events = {name: lines(folder / name) for name in names}
    ended = {name: finals(some) for name, some in events.items()}
    for name, numbers in ended.items():
        is_heard = name == "partials.jsonl"
        see(follow(numbers, is_joined=is_joined and not is_heard), f"{name} has the finals {numbers}")
        see(
            numbers == ended["captions.jsonl"] or (is_joined and is_heard),
            f"{name} and captions.jsonl do not have the same finals",
        )
    shown = " ".join(one["shown"] for one in events["captions.jsonl"] if one["is_final"]).split()
    for name in SUBTITLES.values():
        words = " ".join(cues(folder / name)).split()
        see(sorted(words) == sorted(shown), f"{name} does not say what the captions say")
    return events
