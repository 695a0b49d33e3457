"""Every two options that name files name one file, by path or by a link: that is refused, or harmless."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.chaos.paths import FILE, FOLDER, Path_, paths, write
from tests.chaos.program import SECONDS
from tests.chaos.trial import DOCUMENTED, ROOT, Ended, Trial, see

#: What makes a command quick, and fit to run.
_QUICK: dict[str, list[str]] = {
    "bench": ["--threads", "1", "--limit", "1", "--repeat", "1"],
    "bench-speech": ["--threads", "1"],
    "bench-drafts": ["--threads", "1", "--limit", "1"],
    "bench-rooms": ["--threads", "1", "--rooms", "1", "--seconds", "0.3"],
    "loadgen": ["--threads", "1", "--rooms", "1", "--seconds", "0.5"],
    "trace": ["--threads", "1"],
    "model align": ["--to", "German", "--by", "proportion"],
    "model lexicon": ["--to", "German"],
    "model train": ["--to", "German"],
    "model distill": ["--to", "German"],
    "model heads": ["--to", "German"],
}
#: Options that a command has whether they are tried or not, so that it is quick or runs at all.
ALSO = {
    "file": ("audio",),
    "bench": ("model",),
    "bench-drafts": ("source", "model", "draft_model"),
    "bench-rooms": ("model",),
    "loadgen": ("model",),
    "trace": ("model",),
    "model assemble": ("base", "output"),
    "model prune": ("texts",),
    "report": ("json",),
}
#: Commands of which the models are toys: the others load the tiny one that they are given.
TOYS = ("live", "file", "replay")
#: Commands that refuse the tiny model, as only Gemma can be trained.
_REFUSING = ("model distill", "model heads", "model train")
#: Files that a command makes beside one that it is given.
_BESIDE = (".rejected", ".json", ".state", ".partial", ".tsv.gz")
#: What is in the file that standard output goes into, and has to stay.
_BEFORE = "it was here before\n"
_WAYS = (
    "same path", "relative path", "symbolic link", "hard link", "link to its folder", "dangling link",
    "inside", "beside", "standard output",
)  # fmt: skip


class _Warm:
    """The program, imported and waiting."""

    def __init__(self) -> None:
        paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        self._cache = Path(tempfile.gettempdir()) / "surtitle-chaos-cache"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.program"], cwd=ROOT, text=True,
            env={**os.environ, "PYTHONPATH": paths}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def run(self, trial: Trial, arguments: list[str], *, is_real: bool) -> Ended:
        """Run a command in the trial's folder."""
        outside = trial.folder.with_name(trial.folder.name + ".told")
        outside.mkdir()
        (outside / "out").write_text(_BEFORE)
        asked = {
            "arguments": arguments, "folder": str(trial.folder / "here"), "is_real": is_real, "seconds": 120,
            "stdout": str(outside / "out"), "stderr": str(outside / "err"),
            "environment": {SECONDS: "0.5", "XDG_CACHE_HOME": str(self._cache)},
        }  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(asked), file=self._process.stdin, flush=True)
        code = json.loads(self._process.stdout.readline())
        told = [(outside / name).read_text(errors="replace") for name in ("out", "err")]
        see(
            told[0].startswith(_BEFORE) or code is None,
            f"what was in standard output is gone: {told[0][:80]!r}",
        )
        for path in outside.iterdir():
            path.unlink()
        outside.rmdir()
        see(code is not None, "it did not end within 120 s:", *told)
        return Ended(code, *told)


_warm: list[_Warm] = []
_known: set[str] = set()


def run_warm(trial: Trial, command: str, given: Mapping[Path_, object], *, is_real: bool) -> Ended:
    """Run a command with options in the trial's folder ``here``, and nothing that takes long."""
    if not _warm:
        _warm.append(_Warm())
    arguments = [*command.split(), *_QUICK.get(command, [])]
    for one, name in given.items():
        arguments += [one.flag, str(name)] if one.flag else [str(name)]
    trial.note("surtitle", *arguments)
    return _warm[0].run(trial, arguments, is_real=is_real)


def attempt(trial: Trial) -> None:
    """Try two options of a command as one file."""
    commands = sorted({one.command for one in paths()})
    command = trial.random.choice(commands)
    its = [one for one in paths() if one.command == command]
    if command not in _known and command not in _REFUSING:
        _known.add(command)
        apart = Path_(command, "", "", is_required=False, kind="")
        done = _run(trial, command, its, apart, apart, "apart")
        see(done.code == 0, f"surtitle {command} does not run as it is given here: {done.stderr}")
        _empty(trial.folder)
    first, other = trial.random.sample(its, 2) if len(its) > 1 else (its[0], its[0])
    if not first.is_written and other.is_written:
        # Its contents are those of the one that is read.
        first, other = first, other
    elif first.is_written and not other.is_written:
        first, other = other, first
    way = trial.random.choice(_WAYS)
    trial.note(f"surtitle {command}: {first.name} and {other.name} are one file by {way}")
    _run(trial, command, its, first, other, way)


def _run(trial: Trial, command: str, its: list[Path_], first: Path_, other: Path_, way: str) -> Ended:
    here = trial.folder / "here"
    here.mkdir(parents=True)
    given: dict[str, Path] = {}
    needed = {one.name for one in its if one.is_required} | set(ALSO.get(command, ()))
    if first.name.startswith("from_") or other.name.startswith("from_"):
        needed -= {"audio"}
    for one in its:
        if one.name in needed or one in (first, other):
            given[one.name] = here / _name(one)
            if not one.is_written and one not in (first, other):
                write(one.kind, given[one.name])
    if first in its:
        _join(trial, first, other, way, given)
    names = {one: given[one.name] for one in its if one.name in given}
    if way == "relative path" and other in names:
        names[other] = Path(os.path.relpath(names[other], here))
    before = _tree(trial.folder)
    done = run_warm(trial, command, names, is_real=command not in TOYS)
    named = {one: given[one.name] for one in its if one.name in given}
    _judge(done, before, trial.folder, named)
    return done


def _name(one: Path_) -> str:
    ends = {
        "model": ".gguf", "template": ".toml", "settings": ".toml", "pipeline": ".toml", "speech": ".wav",
        "pairs": ".tsv",
    }  # fmt: skip
    stem = "speech" if one.kind == "speech" else one.name
    return stem + ends.get(one.kind, "" if one.kind in (FOLDER, "speech model") else ".out")


def _join(trial: Trial, first: Path_, other: Path_, way: str, given: dict[str, Path]) -> None:
    """Make one file of two options."""
    one = given[first.name]
    _begin(trial, first, one, way)
    given[other.name] = _other(trial, one, other, way)


def _begin(trial: Trial, first: Path_, one: Path, way: str) -> None:
    if not first.is_written:
        write(first.kind, one)
    elif trial.random.random() < 0.7 or way == "hard link":
        if first.kind == FOLDER and trial.random.random() < 0.7:
            one.mkdir()
        else:
            one.write_text("kept\n")


def _other(trial: Trial, one: Path, other: Path_, way: str) -> Path:
    link = one.with_name("link." + one.name)
    match way:
        case "symbolic link" | "dangling link":
            link.symlink_to(one if way == "symbolic link" else one.name)
        case "hard link" if one.is_file():
            link.hardlink_to(one)
        case "link to its folder":
            (one.parent.parent / "elsewhere").symlink_to(one.parent)
            link = one.parent.parent / "elsewhere" / one.name
        case "inside" if one.is_dir():
            link = next(iter(one.iterdir()), one / "inside")
        case "inside":
            # The other one is the folder that it is in.
            link = one.parent
        case "beside":
            link = one.with_name(one.name + trial.random.choice(_BESIDE))
            if trial.random.random() < 0.5:
                link.write_text("kept\n")
        case "standard output" if other.kind == FILE:
            link = Path("/dev/stdout")
        case _:
            link = one
    return link


def _tree(folder: Path) -> dict[str, bytes | str]:
    """All files of a folder, links and folders as such."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"to {path.readlink()}"
        else:
            found[name] = path.read_bytes() if path.is_file() else "a folder"
    return found


def _judge(
    done: Ended,
    before: dict[str, bytes | str],
    folder: Path,
    given: dict[Path_, Path],
) -> None:
    see(done.code in DOCUMENTED, f"exit code {done.code}:\n{done.stderr}")
    see("Traceback" not in done.stderr, done.stderr)
    after = _tree(folder)
    changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    if done.code:
        see(done.stderr.strip(), "it was refused without a word")
        see(not changed, f"{changed} changed though it was refused: {done.stderr}")
        return
    read = {os.path.realpath(path) for one, path in given.items() if not one.is_written}
    gone = [name for name in changed if name in before and before[name] != "a folder"]
    for name in gone:
        see(os.path.realpath(folder / name) not in read, f"{name} was read, and is changed")
    written = [os.path.realpath(path) for one, path in given.items() if one.kind == FILE]
    see(len(set(written)) == len(written), f"two outputs were one file, and nobody said so: {done.stdout}")


def _empty(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.unlink() if path.is_symlink() or not path.is_dir() else path.rmdir()
