"""Compiles and installs llama-cpp-python as requirements.lock has it, in a build that works on this machine.

Run by .ci/setup with the Python of .venv, once all that comes as wheels is there. Each build makes real
passes in a child process before it is kept; .venv/llama.json says which one was (docs/start.md).
LLAMA_BUILD names a build, CMAKE_ARGS adds options of CMake.
"""

import importlib
import json
import os
import platform
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ladder import BUILDS, NATIVE, Build, Choice, NothingWorksError, climb_down, ladder
from llama_wheel import ROOT, WORK, compile_wheel, install, say, sdist, wheel_key
from progress import Line

from connectors.machine.resources import cpu_features
from connectors.machine.trial import (
    Failed,
    library_folder,
    library_identity,
    remember_good,
    try_library,
)
from operators.models.trial import LibraryTrial

REPORT = ROOT / ".venv" / "llama.json"
#: What LLAMA_BUILD names to have set-up choose again.
AUTO = "auto"
#: Compiled for AMX by flags of the user's own, llama.cpp does without it, and says so at each start.
NO_USE = "this processor has no AMX"
#: A verification for so many single tokens, as the tuning of threads weighs them.
_SINGLES = 4


def weigh_amx(trial: Callable[[bool], LibraryTrial | Failed], times: int = 2) -> str | None:
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
        case LibraryTrial(wrong=str(wrong)):
            return wrong
        case LibraryTrial(has_amx=has_amx):
            if folder := library_folder():
                remember_good(folder, beside=True)
            if not has_amx or forced:
                return None
            if "amx_int8" not in cpu_features():
                return NO_USE
            line.say("measuring what AMX is worth")
            return weigh_amx(lambda without: try_library(timed=True, without_amx=without))


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
    shutil.rmtree(WORK, ignore_errors=True)
    line.end(f"llama.cpp is there, the {choice.build.name} build, with {choice.build.what}")


if __name__ == "__main__":
    main()
