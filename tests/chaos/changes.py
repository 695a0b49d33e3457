"""A disk fills up under a run, or its input, model or recovery folder is cut, removed or replaced."""

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tests.chaos.talk import talk
from tests.chaos.trial import LINES, SUBTITLES, SURTITLE, Ended, Trial, outputs, records, see
from tests.killing import speech
from tests.tiny_gguf import pieces, write_model

_SECONDS = 6.0
_FILES = {name: file for name, file in {**LINES, **SUBTITLES}.items() if name != "translations"}
_NO_LIMIT = resource.RLIM_INFINITY


def _cut_to_nothing(_trial: Trial, path: Path) -> None:
    os.truncate(path, 0)


def _cut_somewhere(trial: Trial, path: Path) -> None:
    os.truncate(path, trial.random.randint(0, path.stat().st_size))


def _rename(_trial: Trial, path: Path) -> None:
    path.rename(path.with_name("renamed-" + path.name))


def _remove(_trial: Trial, path: Path) -> None:
    path.unlink()


def _replace(_trial: Trial, path: Path) -> None:
    other = path.with_name("new-" + path.name)
    other.write_bytes(b"WEBVTT\n\n" if path.suffix == ".vtt" else b"")
    other.replace(path)


def attempt(trial: Trial) -> None:
    """Replay a talk, and do something to what it uses meanwhile."""
    random = trial.random
    what = random.choice(["disk", "limit", "input", "model", "recovery folder"])
    trial.note(what)
    given, segments = _translated(trial) if what == "model" else _replayed(trial)
    with _disk(trial, what) as folder:
        files = {option: folder / file for option, file in _FILES.items()}
        arguments = ["--recovery", trial.folder / "run"] if random.random() < 0.5 else []
        if what == "recovery folder":
            arguments = ["--recovery", trial.folder / "run"]
        process = trial.start(
            SURTITLE, "replay", *given, "--realtime", *arguments,
            "--set", f"output.summary={trial.folder / 'summary.json'}", *outputs(files),
        )  # fmt: skip
        _wait_for(files["--captions"], process)
        time.sleep(random.uniform(0.0, 2.0))
        _disturb(trial, what, files, process)
        ended = trial.end(process)
        see(ended.code in (0, 3, 4), f"exit code {ended.code}: {ended.stderr}")
        see(ended.code != 0 or not ended.stderr.count("Error"), ended.stderr)
        trial.note(f"exit code {ended.code}:", ended.stderr)
        see(what != "model" or ended.code == 0, f"exit code {ended.code}: {ended.stderr}")
        _see_nothing_vanishes(trial, what, files, ended, segments)
        if what == "recovery folder" and ended.code == 0:
            return
        trial.see_unlocked()


def _replayed(trial: Trial) -> tuple[list[object], int]:
    """What to replay where no model is needed, and its segments."""
    path = trial.folder / "talk.jsonl"
    return [path], talk(path, seconds=_SECONDS, segments=60)


def _translated(trial: Trial) -> tuple[list[object], int]:
    """The same with a model that babbles."""
    path, model = trial.folder / "talk.jsonl", trial.folder / "model.gguf"
    speech(path, 5)
    write_model(model, pieces({}))
    return [path, "--model", model, "--set", "translate.threads=1", "--set", "sentences.method=off"], 5


@contextlib.contextmanager
def _disk(trial: Trial, what: str) -> Iterator[Path]:
    """A folder on a small disk of its own, where that is permitted and asked for."""
    folder = trial.folder / "there"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "surtitle-chaos", str(folder)]
    is_mounted = what == "disk" and subprocess.run(command, capture_output=True, check=False).returncode == 0
    try:
        yield folder
    finally:
        if is_mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)


def _wait_for(path: Path, process: "subprocess.Popen[str]") -> None:
    while process.poll() is None and not (path.exists() and path.stat().st_size):
        time.sleep(0.01)


def _disturb(trial: Trial, what: str, files: dict[str, Path], process: "subprocess.Popen[str]") -> None:
    random = trial.random
    match what:
        case "disk":
            filler = files["--captions"].with_name("filler")
            with contextlib.suppress(OSError):
                filler.write_bytes(bytes(2**17))
            time.sleep(random.uniform(0.5, 2.0))
            if random.random() < 0.5:
                trial.note("there is room again")
                filler.unlink()
        case "limit":
            limit = max(path.stat().st_size for path in files.values()) + random.randrange(500)
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (limit, _NO_LIMIT))
            time.sleep(random.uniform(0.5, 2.0))
            if random.random() < 0.5:
                trial.note("there is room again")
                with contextlib.suppress(ProcessLookupError):
                    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (_NO_LIMIT, _NO_LIMIT))
        case "input" | "model":
            # A mapped model that shrinks kills the run, as documented.
            cuts = [_cut_to_nothing, _cut_somewhere] if what == "input" else []
            change = random.choice([*cuts, _rename, _remove, _replace])
            trial.note(change.__name__.strip("_"))
            change(trial, trial.folder / ("talk.jsonl" if what == "input" else "model.gguf"))
        case _:
            _take_away(trial, trial.folder / "run")
    if random.random() < 0.2:
        trial.note("and stopped")
        process.send_signal(signal.SIGTERM)


def _take_away(trial: Trial, folder: Path) -> None:
    if trial.random.random() < 0.5:
        trial.note("renamed")
        folder.rename(folder.with_name("other"))
    else:
        trial.note("removed")
        shutil.rmtree(folder, ignore_errors=True)
    time.sleep(trial.random.uniform(0.0, 2.0))


def _see_nothing_vanishes(
    trial: Trial, what: str, files: dict[str, Path], ended: Ended, segments: int
) -> None:
    """See that all files are whole, hold nothing twice, and that what they lack is named."""
    summary = trial.folder / "summary.json"
    if not summary.exists():
        see(ended.code != 0, "there is no summary")
        return
    told = json.loads(summary.read_text())
    if what != "input" and "and stopped" not in trial.notes and ended.code in (0, 4):
        see(told["segments"] == segments, f"the run ended after {told['segments']} segments: {ended.stderr}")
    missing = {Path(one["path"]).name: one["span"]["records"] for one in told["missing"]}
    see(not missing or ended.code == 4, f"{missing} are missing, and the exit code is {ended.code}")
    for option, path in files.items():
        held = records(path)
        if option in LINES:
            numbers = [(record["segment"], record["revision"]) for record in held]
            see(sorted(set(numbers)) == sorted(numbers), f"{path.name} has records twice: {numbers}")
        see(
            len(held) + missing.get(path.name, 0) >= told["segments"],
            f"{path.name} has {len(held)} records of {told['segments']}, and {missing} are told of",
        )
