"""Wheels of llama-cpp-python: fetched as source, compiled as a build of the ladder, and kept."""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ladder import Build, NothingWorksError
from platformdirs import user_cache_path
from progress import Compiling, Line, run

from connectors.machine.resources import cpu_features

ROOT = Path(__file__).resolve().parent.parent
#: Where sources and wheels lie while set-up is at it.
WORK = ROOT / ".venv" / "llama"
_MAX_CACHED = 6
_PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")


def say(text: str) -> None:
    """Print a message of the set-up."""
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
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    (WORK / "requirement.txt").write_text(requirement(), encoding="utf-8")
    line.say("fetching the source of llama.cpp (70 MB)")
    command = [*_PIP, "download", "--require-hashes", "--no-deps", "--no-build-isolation", "--no-binary",
               ":all:", "--dest", str(WORK), "--requirement", str(WORK / "requirement.txt")]  # fmt: skip
    status, tail = run(command, lambda _line: None, line)
    if status:
        raise NothingWorksError("its source cannot be fetched:\n" + "\n".join(tail))
    return next(WORK.glob("*.tar.gz"))


def compile_wheel(build: Build, source: Callable[[], Path], line: Line) -> Path | str:
    """The wheel of ``build``, from the cache or compiled; the compiler's last words if that fails."""
    kept = cached_wheels() / wheel_key(build)
    # What else own options bring in, a toolkit of a graphics card say, is in no key.
    if not os.environ.get("CMAKE_ARGS") and (wheels := list(kept.glob("*.whl"))):
        kept.touch()
        return wheels[0]
    archive, target = source(), WORK / build.name
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
        for old in sorted(folder.parent.iterdir(), key=lambda one: -one.stat().st_mtime)[_MAX_CACHED:]:
            shutil.rmtree(old, ignore_errors=True)


def install(wheel: Path) -> None:
    """Put the wheel into .venv, in place of whatever build is there."""
    command = [*_PIP, "install", "--quiet", "--no-deps", "--no-index", "--force-reinstall", str(wheel)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)
