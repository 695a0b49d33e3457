"""Two runs at a time on the same files, folder or port: one goes on, the other one says a sentence."""

import signal
import subprocess
import time
from pathlib import Path

from tests.chaos.talk import talk
from tests.chaos.trial import (
    LINES,
    PATIENCE_S,
    SUBTITLES,
    SURTITLE,
    Ended,
    Trial,
    is_free,
    outputs,
    records,
    see,
)
from tests.killing import free_addresses

_SECONDS = 3.0
_FILES = {**LINES, **SUBTITLES}
_SHARED = ("all files", "one file", "folder", "folder and files", "web", "metrics")

_Run = tuple["subprocess.Popen[str]", dict[str, Path]]


def attempt(trial: Trial) -> None:
    """Start two runs that share something, one soon after the other."""
    segments = talk(trial.folder / "talk.jsonl", seconds=_SECONDS)
    shared, wait_s = trial.random.choice(_SHARED), trial.random.choice([0.0, 0.0, 0.02, 0.3, 2.0])
    trial.note(f"{shared}, {wait_s} s apart")
    number = int(free_addresses(1)[0].partition(":")[2])
    one = _start(trial, "one", shared, number)
    time.sleep(wait_s)
    other = _start(trial, "other", shared, number)
    if shared == "web":
        _end_the_one_that_stays([one, other], segments)
    ended = [trial.end(process) for process, _ in (one, other)]
    _judge(ended)
    for (_, files), how in zip((one, other), ended, strict=True):
        _see_files(files, how, segments, is_shared=shared in ("all files", "folder and files"))
    see(is_free(number), "a port is still taken")
    trial.see_unlocked()


def _start(trial: Trial, name: str, shared: str, number: int) -> _Run:
    is_shared = shared in ("all files", "folder and files")
    files = {
        option: trial.folder / (file if is_shared else f"{name}-{file}") for option, file in _FILES.items()
    }
    if shared == "one file":
        option = sorted(files)[trial.seed % len(files)]
        files[option] = trial.folder / f"shared{files[option].suffix}"
    sharing: dict[str, list[object]] = {
        "folder": ["--recovery", trial.folder / "run"],
        "folder and files": ["--recovery", trial.folder / "run"],
        "web": ["--web", "--port", number],
        "metrics": ["--set", f"metrics.listen={number}"],
    }
    process = trial.start(
        SURTITLE, "replay", trial.folder / "talk.jsonl", "--realtime", *sharing.get(shared, []),
        *outputs(files),
    )  # fmt: skip
    return process, files


def _end_the_one_that_stays(runs: list[_Run], segments: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    for process, files in runs:
        captions = files["captions"]
        while process.poll() is None and (
            not captions.exists() or captions.read_bytes().count(b"\n") < segments
        ):
            see(time.monotonic() < deadline, "it never came to its end")
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)


def _judge(ended: list[Ended]) -> None:
    codes = sorted(one.code for one in ended)
    told = "\n".join(one.stderr for one in ended)
    if codes == [0, 0]:
        # The first was over before the other one began: that is none of our business.
        return
    see(codes[0] == 0, f"neither went on: {codes}\n{told}")
    see(codes[1] in (2, 4), f"the other ended with {codes[1]}: {told}")
    refused = next(one for one in ended if one.code)
    see(refused.stderr.count("surtitle: ") == 1, f"it is not refused in one sentence: {refused.stderr}")
    see(refused.stdout == "", f"it said something before it was refused: {refused.stdout}")


def _see_files(files: dict[str, Path], how: Ended, segments: int, *, is_shared: bool) -> None:
    """See that the run that went on has all of its files, and that the one that was refused made none."""
    if how.code == 0:
        for option, path in files.items():
            if option != "translations":
                see(len(records(path)) >= segments, f"{option} of the run that went on is not whole")
    elif not is_shared:
        own = [path.name for path in files.values() if path.stem != "shared" and path.exists()]
        see(not own, f"the run that was refused made {own}")
