"""The disk: whether the cache folder and the folder for results can be written, and their space."""

import shutil
import tempfile
from pathlib import Path

import msgspec
from platformdirs import user_cache_path

from flows.doctor.finding import Finding

#: Megabytes that the default models take in the cache.
_CACHE_MB = 400.0
#: Megabytes for the results of a long talk: an hour of sound has 115.
_RESULTS_MB = 200.0


class Folder(msgspec.Struct, frozen=True):
    """A folder that surtitle writes to."""

    path: str
    #: Why no file can be made there; None if one can.
    error: str | None
    free_mb: float


class DiskFacts(msgspec.Struct, frozen=True):
    """Both folders."""

    cache: Folder
    #: The working directory, where results are written unless a path is given.
    results: Folder


def look() -> DiskFacts:
    """Look at the folders, by making a file in each."""
    return DiskFacts(_tried(user_cache_path("surtitle"), make=True), _tried(Path.cwd(), make=False))


def _tried(path: Path, *, make: bool) -> Folder:
    error = None
    try:
        if make:
            path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path) as file:
            file.write(b"surtitle")
    except OSError as failed:
        error = failed.strerror or str(failed)
    existing = next((one for one in (path, *path.parents) if one.is_dir()), Path("/"))
    return Folder(str(path), error, shutil.disk_usage(existing).free / 1e6)


def judge(facts: DiskFacts) -> list[Finding]:
    """Whether models can be kept and results written."""
    elsewhere = "set XDG_CACHE_HOME to a folder on another disk"
    return [
        _judged(facts.cache, "The cache folder", _CACHE_MB, elsewhere),
        _judged(
            facts.results, "This folder", _RESULTS_MB, "write results elsewhere, with paths in the options"
        ),
    ]


def _judged(folder: Folder, name: str, needed_mb: float, elsewhere: str) -> Finding:
    if folder.error is not None:
        return Finding.warning(f"{name} {folder.path} cannot be written: {folder.error}", elsewhere)
    sentence = f"{name} {folder.path} can be written, {folder.free_mb / 1000:,.1f} GB are free"
    if folder.free_mb < needed_mb:
        return Finding.warning(sentence, f"free {needed_mb:.0f} MB, or {elsewhere}")
    return Finding.ok(sentence)
