"""Which build of llama.cpp works here: from the fastest down, each compiled and tried until one passes."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

_WITHOUT_AMX = "-DSURTITLE_WITHOUT_AMX=ON"
_SWITCHES = ("SSE42", "AVX", "AVX2", "BMI2", "FMA", "F16C")


class Build(NamedTuple):
    """A way to compile llama.cpp."""

    name: str
    options: tuple[str, ...]
    #: What it has and has not, for people.
    what: str


NATIVE = Build("native", (), "all that this processor has")
NO_AMX = Build("no-amx", (_WITHOUT_AMX,), "all that this processor has but AMX")
PORTABLE = Build("portable", (_WITHOUT_AMX, "-DGGML_NATIVE=OFF"), "AVX2 on x86-64, NEON on arm64")
BASELINE = Build(
    "baseline",
    (_WITHOUT_AMX, "-DGGML_NATIVE=OFF", *(f"-DGGML_{switch}=OFF" for switch in _SWITCHES)),
    "what every x86-64 has",
)
ANYWHERE = Build(
    "anywhere",
    ("-DGGML_NATIVE=OFF", "-DGGML_BACKEND_DL=ON", "-DGGML_CPU_ALL_VARIANTS=ON"),
    "a library for each kind of processor, chosen when the program starts",
)
BUILDS = (NATIVE, NO_AMX, PORTABLE, BASELINE, ANYWHERE)


class LeftOut(NamedTuple):
    """A build that was given up, and why."""

    build: str
    why: str


class Choice(NamedTuple):
    """The build that passed, and those before it that did not."""

    build: Build
    left_out: tuple[LeftOut, ...]


class NothingWorksError(Exception):
    """No build passed; the message is why the last one did not."""


def ladder(*, forced: str | None, is_x86: bool, may_have_amx: bool) -> tuple[Build, ...]:
    """The builds to try, in this order; only ``forced`` where that is named. Raises `KeyError` if unknown."""
    if forced:
        return ({build.name: build for build in BUILDS}[forced],)
    return (NATIVE, *[NO_AMX] * may_have_amx, PORTABLE, *[BASELINE] * is_x86)


def climb_down(
    builds: Sequence[Build],
    compiles: Callable[[Build], str | None],
    passes: Callable[[Build], str | None],
    say: Callable[[str], None],
) -> Choice:
    """Compile and try ``builds`` in turn until one passes; both callables return what is wrong, or None."""
    left_out: list[LeftOut] = []
    for number, build in enumerate(builds):
        why = compiles(build) or passes(build)
        if why is None:
            return Choice(build, tuple(left_out))
        left_out.append(LeftOut(build.name, why))
        if number + 1 < len(builds):
            say(f"llama.cpp with {build.what}: {why}; building it with {builds[number + 1].what}")
    raise NothingWorksError(left_out[-1].why)
