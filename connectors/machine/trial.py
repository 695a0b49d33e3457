"""Whether the installed llama.cpp runs on this processor, determined before it is loaded.

In a container or a virtual environment that was moved, it may be compiled for another processor, and would
kill the process with an illegal instruction, sometimes even while loading. Therefore it is tried once in a
child process, which runs this module (`operators.models.trial`). A success is remembered, by set-up next to
the library and by the program in the cache folder: as the features of that processor, so that a processor
with at least the same features needs no trial.
"""

import hashlib
import importlib.util
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import msgspec
from platformdirs import user_cache_path

from connectors.files.atomic import write_note
from connectors.files.contents import DAMAGED
from connectors.machine.child_process import Failure, run_child
from connectors.machine.resources import cpu_features, usable_cores
from operators.errors import InputError, SurtitleError
from operators.models.trial import LibraryTrial

#: Causes of death that mean that the library, not something around it, is at fault.
_VERDICTS = frozenset(
    getattr(signal, name)
    for name in ("SIGILL", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGTRAP", "SIGABRT")
    if hasattr(signal, name)
)
_TIMEOUT_S = 300.0
#: Maximum number of processors remembered per library; the oldest is removed first.
_MAX_RECORDS = 20
RECORD = "surtitle.json"


class Failed(NamedTuple):
    """Why a trial failed, phrased as the rest of a sentence about the library."""

    why: str
    #: Whether the library is at fault; if not, the trial is inconclusive.
    is_verdict: bool = True


class LibraryRecord(msgspec.Struct, frozen=True):
    """The processors on which a library has passed its trial."""

    #: The library, identified by `library_identity`.
    library: str
    good_on: tuple[frozenset[str], ...]


def require_library() -> None:
    """Return if llama.cpp runs here or if that is unknown; raise `InputError` if it does not run."""
    folder = library_folder()
    if folder is None or is_known_good(folder):
        return
    match try_library():
        case Failed(why, True):
            raise InputError(_sentence(folder, why))
        case Failed():
            return
        case LibraryTrial(wrong=str(wrong)):
            raise InputError(_sentence(folder, wrong))
        case LibraryTrial():
            remember_good(folder)


def _sentence(folder: Path, why: str) -> str:
    lacking = missing_features(folder)
    lacks = f", which lacks {' '.join(lacking)}" if lacking else ""
    return (
        f"{folder}: llama.cpp does not work on this processor{lacks} (in a trial {why}); compile it anew: "
        "in a checkout with make clean setup, elsewhere with CMAKE_ARGS=-DGGML_NATIVE=OFF pip install "
        "--force-reinstall --no-cache-dir --no-deps --no-binary llama-cpp-python "
        f"llama-cpp-python=={version('llama-cpp-python')}"
    )


def library_folder() -> Path | None:
    """The folder of llama-cpp-python's libraries, without importing it; None if it is not installed."""
    if named := os.environ.get("LLAMA_CPP_LIB_PATH"):
        return Path(named)
    spec = importlib.util.find_spec("llama_cpp")
    return Path(spec.origin).parent / "lib" if spec and spec.origin else None


def library_identity(folder: Path) -> str:
    """Identifies a build by the names, sizes and dates of its files."""
    files = []
    for path in sorted(folder.iterdir()):
        if path.name != RECORD and path.is_file():
            status = path.stat()
            files.append(f"{path.name} {status.st_size} {int(status.st_mtime)}")
    return hashlib.sha256("\n".join([version("llama-cpp-python"), *files]).encode()).hexdigest()[:24]


def try_library(
    *, timed: bool = False, without_amx: bool = False, environment: Mapping[str, str] | None = None
) -> LibraryTrial | Failed:
    """Run the trial in a child process; ``without_amx`` keeps llama.cpp from using AMX."""
    arguments = [str(usable_cores()), *["--timed"] * timed, *["--without-amx"] * without_amx]
    done = run_child("connectors.machine.trial", arguments, LibraryTrial, _TIMEOUT_S, environment)
    if isinstance(done, Failure):
        return Failed(f"it {done.why}", is_verdict=done.killed_by in _VERDICTS)
    return done


def is_known_good(folder: Path) -> bool:
    """Whether the library has passed on this processor, or on one with a subset of its features."""
    here = cpu_features()
    return any(there <= here for there in _good_on(folder))


def missing_features(folder: Path) -> list[str]:
    """A few instruction sets that the processor lacks compared with those where the library has passed."""
    here = cpu_features()
    lacking = min((there - here for there in _good_on(folder)), key=len, default=frozenset[str]())
    known = ("amx", "avx", "fma", "bmi", "f16c", "sse", "ssse", "asimd", "i8mm", "sve", "sme", "bf16")
    return sorted(one for one in lacking if one.startswith(known))[:6]


def remember_good(folder: Path, beside: bool = False) -> None:
    """Record that the library works: ``beside`` it, as its builder may, or in the user's cache folder."""
    identity = library_identity(folder)
    path = folder / RECORD if beside else _cached(identity)
    good_on = (*_read(path, identity), cpu_features())[-_MAX_RECORDS:]
    write_note(path, msgspec.json.encode(LibraryRecord(identity, good_on), order="sorted"))


def _good_on(folder: Path) -> Iterator[frozenset[str]]:
    try:
        identity = library_identity(folder)
    except OSError:
        return
    yield from _read(folder / RECORD, identity)
    yield from _read(_cached(identity), identity)


def _read(path: Path, identity: str) -> tuple[frozenset[str], ...]:
    try:
        record = msgspec.json.decode(path.read_bytes(), type=LibraryRecord)
    except (OSError, *DAMAGED):
        return ()
    return record.good_on if record.library == identity else ()


def _cached(identity: str) -> Path:
    return user_cache_path("surtitle") / "library" / f"{identity}.json"


def main() -> None:
    """The child process: its arguments are the threads, ``--timed`` and ``--without-amx``.

    Prints one line of JSON, or a sentence about an unrelated problem. A signal may kill it at any moment.
    """
    from operators.models.trial import refuse_amx, run_trial

    if "--without-amx" in sys.argv[2:]:
        refuse_amx()  # before the check of the model's file loads llama.cpp
    from connectors.models.resolve import resolve_model

    try:
        model = resolve_model("base")
    except SurtitleError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
    trial = run_trial(model, int(sys.argv[1]), timed="--timed" in sys.argv[2:])
    sys.stdout.buffer.write(msgspec.json.encode(trial) + b"\n")


if __name__ == "__main__":
    main()
