"""Compiles and installs llama-cpp-python as requirements.lock has it, in a build that works on this machine.

Run by .ci/setup with the Python of .venv, once all that comes as wheels is there. Each build makes real
passes in a child process before it is kept; .venv/llama.json says which one was (docs/install.md).
LLAMA_BUILD names a build, CMAKE_ARGS adds options of CMake.
"""

import hashlib
import importlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ladder import BUILDS, NATIVE, Build, Choice, NothingWorksError, climb_down, ladder
from platformdirs import user_cache_path
from progress import Compiling, Line, run

from connectors.cpu import cpu_features
from connectors.library_trial import (
    Failed,
    library_folder,
    library_identity,
    remember_good,
    try_library,
)
from operators.models.trial import Trial

ROOT = Path(__file__).resolve().parent.parent
REPORT = ROOT / ".venv" / "llama.json"
#: What LLAMA_BUILD names to have set-up choose again.
AUTO = "auto"
_WORK = ROOT / ".venv" / "llama"
_MOST_CACHED = 6
#: A verification for so many single tokens, as the tuning of threads weighs them.
_SINGLES = 4
_PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")


def say(text: str) -> None:
    """Tell whoever runs set-up."""
    print(f"setup: {text}", file=sys.stderr, flush=True)


def requirement() -> str:
    """The lines of the lock about llama-cpp-python: its version and hashes."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    found = re.search(r"^llama-cpp-python==(?:.*\\\n)*.*\n", lock, re.MULTILINE)
    assert found is not None
    return found[0]


def wheel_key(build: Build) -> str:
    """A name for the wheel that ``build`` gives here: by all that decides what the compiler makes of it."""
    compiler = subprocess.run(
        [os.environ.get("CXX", "c++"), "--version"], capture_output=True, text=True, check=False
    ).stdout
    native = "-DGGML_NATIVE=OFF" not in build.options
    parts = [
        requirement(), *build.options, compiler, platform.platform(),
        *(sorted(cpu_features()) if native else ()),
        *((ROOT / ".ci" / name).read_text(encoding="utf-8") for name in ("llama.cmake", "amx.h")),
        *(os.environ.get(name, "") for name in ("CC", "CFLAGS", "CXXFLAGS", "LDFLAGS", "CMAKE_ARGS")),
    ]  # fmt: skip
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def cached_wheels() -> Path:
    """Where wheels are kept for the next checkout: pip's own cache tells no build from another."""
    return user_cache_path("surtitle") / "wheels"


def sdist(line: Line) -> Path:
    """Fetch the source, its hash checked."""
    shutil.rmtree(_WORK, ignore_errors=True)
    _WORK.mkdir(parents=True)
    (_WORK / "requirement.txt").write_text(requirement(), encoding="utf-8")
    line.say("fetching the source of llama.cpp (70 MB)")
    command = [*_PIP, "download", "--require-hashes", "--no-deps", "--no-build-isolation", "--no-binary",
               ":all:", "--dest", str(_WORK), "--requirement", str(_WORK / "requirement.txt")]  # fmt: skip
    status, tail = run(command, lambda _line: None, line)
    if status:
        raise NothingWorksError("its source cannot be fetched:\n" + "\n".join(tail))
    return next(_WORK.glob("*.tar.gz"))


def compile_wheel(build: Build, source: Callable[[], Path], line: Line) -> Path | str:
    """The wheel of ``build``, from the cache or compiled; the compiler's last words if that fails."""
    kept = cached_wheels() / wheel_key(build)
    # What else own options bring in, a toolkit of a graphics card say, is in no key.
    if not os.environ.get("CMAKE_ARGS") and (wheels := list(kept.glob("*.whl"))):
        kept.touch()
        return wheels[0]
    archive, target = source(), _WORK / build.name
    say(f"compiling llama.cpp, the {build.name} build: 2 to 4 minutes on 2 cores")
    options = f"-DLLAVA_BUILD=OFF -DCMAKE_PROJECT_llama_cpp_INCLUDE='{ROOT}/.ci/llama.cmake'"
    cores = str(os.cpu_count() or 1)
    environment = {
        "CMAKE_ARGS": " ".join([options, *build.options, os.environ.get("CMAKE_ARGS", "")]),
        "CMAKE_BUILD_PARALLEL_LEVEL": os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", cores),
    }
    command = [
        "env", *(f"{name}={value}" for name, value in environment.items()), *_PIP, "wheel", "--verbose",
        "--no-cache-dir", "--no-deps", "--no-build-isolation", "--wheel-dir", str(target), str(archive),
    ]  # fmt: skip
    status, tail = run(command, Compiling("llama.cpp"), line)
    if status:
        return "it does not compile:\n" + "\n".join(tail)
    wheel = next(target.glob("*.whl"))
    keep(wheel, kept)
    return wheel


def keep(wheel: Path, folder: Path) -> None:
    """Keep a wheel for the next checkout, and only as many as are of use; best effort."""
    with suppress(OSError):
        own = folder.with_suffix(f".{os.getpid()}")
        own.mkdir(parents=True)
        shutil.copy(wheel, own)
        shutil.rmtree(folder, ignore_errors=True)
        own.rename(folder)
        for old in sorted(folder.parent.iterdir(), key=lambda one: -one.stat().st_mtime)[_MOST_CACHED:]:
            shutil.rmtree(old, ignore_errors=True)


def install(wheel: Path) -> None:
    """Put the wheel into .venv, in place of whatever build is there."""
    command = [*_PIP, "install", "--quiet", "--no-deps", "--no-index", "--force-reinstall", str(wheel)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)


def weigh_amx(trial: Callable[[bool], Trial | Failed], times: int = 2) -> str | None:
    """Why AMX is not worth having here, None if it is: the same library with it and, refused it, without.

    ``trial`` makes one, without AMX where that is asked; they alternate, and the least time counts.
    """
    least = {False: float("inf"), True: float("inf")}
    for _turn in range(times):
        for without in (False, True):
            made = trial(without)
            if isinstance(made, Failed) or made.wrong:
                return None  # where AMX cannot be refused there is nothing to compare
            least[without] = min(least[without], made.verify_ms + _SINGLES * made.single_ms)
    say(f"AMX: {least[False]:.0f} ms for what takes {least[True]:.0f} ms without it")
    return "AMX makes it slower" if least[True] < least[False] else None


def passes(forced: bool, line: Line) -> str | None:
    """What is wrong with the library that is installed, or None; that it passed is noted beside it."""
    line.say("trying llama.cpp: two real passes")
    match try_library():
        case Failed(why, True):
            return why
        case Failed(why):
            say(f"llama.cpp could not be tried ({why}); it is kept as it is")
            return None
        case Trial(wrong=str(wrong)):
            return wrong
        case Trial(has_amx=has_amx):
            if folder := library_folder():
                remember_good(folder, beside=True)
            if has_amx and not forced and "amx_int8" in cpu_features():
                line.say("measuring what AMX is worth")
                return weigh_amx(lambda without: try_library(timed=True, without_amx=without))
            return None


def choose(forced: str | None, line: Line) -> Choice:
    """Compile, install and try one build after the other."""
    fetched: list[Path] = []

    def source() -> Path:
        if not fetched:
            fetched.append(sdist(line))
        return fetched[0]

    def compiles(build: Build) -> str | None:
        wheel = compile_wheel(build, source, line)
        if isinstance(wheel, Path):
            install(wheel)
            return None
        return wheel

    flags = " ".join(os.environ.get(name, "") for name in ("CMAKE_ARGS", "CFLAGS", "CXXFLAGS"))
    may_have_amx = "amx" in flags or any(one.startswith("amx") for one in cpu_features())
    is_x86 = platform.machine().lower() in ("x86_64", "amd64")
    builds = ladder(forced=forced, is_x86=is_x86, may_have_amx=may_have_amx)
    return climb_down(builds, compiles, lambda _build: passes(bool(forced), line), say)


def wish() -> str | None:
    """The build that LLAMA_BUILD names, now or when .venv was set up before; None if set-up is to choose."""
    named = os.environ.get("LLAMA_BUILD") or str(read_report().get("wish", ""))
    if named and named not in [AUTO, *(build.name for build in BUILDS)]:
        names = ", ".join([AUTO, *(build.name for build in BUILDS)])
        sys.exit(f"setup: LLAMA_BUILD={named}: no such build; there are {names}")
    return None if named in ("", AUTO) else named


def read_report() -> dict[str, object]:
    """What set-up wrote about the library that is installed; empty if it did not."""
    with suppress(OSError, ValueError):
        report = json.loads(REPORT.read_bytes())
        if isinstance(report, dict):
            return report
    return {}


def installed() -> str:
    """Which library is installed; empty if none is."""
    importlib.invalidate_caches()
    folder = library_folder()
    return library_identity(folder) if folder else ""


def main() -> None:
    """Have a build of llama.cpp that works."""
    wanted = {"wish": wish() or "", "key": wheel_key(NATIVE)}
    if read_report().items() >= {**wanted, "library": installed()}.items():
        return
    line = Line(sys.stderr)
    try:
        choice = choose(wanted["wish"] or None, line)
    except NothingWorksError as error:
        sys.exit(f"setup: no build of llama.cpp works here: {error}")
    report = {
        "build": choice.build.name,
        "has": choice.build.what,
        "left_out": [one._asdict() for one in choice.left_out],
        **wanted,
        "library": installed(),
    }
    REPORT.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    shutil.rmtree(_WORK, ignore_errors=True)
    line.end(f"llama.cpp is there, the {choice.build.name} build, with {choice.build.what}")


if __name__ == "__main__":
    main()
