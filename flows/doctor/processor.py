"""The processor: how many cores may be used, and whether llama.cpp uses its instruction sets."""

import os

import msgspec

from connectors.machine.child_process import Failure, run_child
from connectors.machine.resources import cpu_features, cpu_name, limits, usable_cores
from flows.doctor.finding import Finding

#: Instruction sets that llama.cpp can use: Linux's names, those that llama.cpp prints, and the usual ones.
_SETS = {
    "avx": ("AVX", "AVX"),
    "avx2": ("AVX2", "AVX2"),
    "fma": ("FMA", "FMA"),
    "f16c": ("F16C", "F16C"),
    "avx_vnni": ("AVX_VNNI", "AVX-VNNI"),
    "avx512f": ("AVX512", "AVX-512"),
    "avx512_vnni": ("AVX512_VNNI", "AVX-512 VNNI"),
    "avx512_bf16": ("AVX512_BF16", "AVX-512 BF16"),
    "amx_int8": ("AMX_INT8", "AMX"),
    "asimd": ("NEON", "NEON"),
    "asimddp": ("DOTPROD", "dot products"),
    "i8mm": ("MATMUL_INT8", "I8MM"),
    "sve": ("SVE", "SVE"),
}
# Set-up leaves AMX out where it is slower; docs/install.md says when.
_OPTIONAL = frozenset(("amx_int8",))


class Library(msgspec.Struct, frozen=True):
    """What llama.cpp says of itself."""

    #: Why it does not run here; None if it does.
    error: str | None = None
    #: The instruction sets that it uses, as it names them.
    uses: tuple[str, ...] = ()


class ProcessorFacts(msgspec.Struct, frozen=True):
    """The processor and the library."""

    name: str
    #: Cores of the machine, those that this process may use, and the limit of its container if it has one.
    cores: int
    usable: int
    quota: float | None
    #: Instruction sets that llama.cpp can use, as Linux names them.
    features: tuple[str, ...]
    library: Library


def look(limit_s: float) -> ProcessorFacts:
    """Look at the processor; llama.cpp is tried in a child process."""
    library = run_child("flows.doctor.child", ["library"], Library, limit_s)
    if isinstance(library, Failure):
        library = Library(error=f"llama.cpp {library.why}; install surtitle again")
    features = cpu_features()
    return ProcessorFacts(
        name=cpu_name().rpartition(",")[0],
        cores=os.cpu_count() or 1,
        usable=usable_cores(),
        quota=limits().cores,
        features=tuple(name for name in _SETS if name in features),
        library=library,
    )


def judge(facts: ProcessorFacts) -> list[Finding]:
    """Whether captions can be computed here."""
    return [_cores(facts), *_library(facts)]


def _cores(facts: ProcessorFacts) -> Finding:
    share = min(facts.usable, facts.quota or facts.usable)
    plural = "core" if share == 1 else "cores"
    of = f" of {facts.cores}" if share < facts.cores else ""
    sentence = f"{facts.name}: {share:g}{of} {plural} can be used"
    if share < 1:
        return Finding.warning(
            sentence, "give the container at least two cores; with less, captions come late"
        )
    if share < 2:
        return Finding.warning(
            sentence, "give surtitle two cores: the recogniser and the translator would share this one"
        )
    return Finding.ok(sentence)


def _library(facts: ProcessorFacts) -> list[Finding]:
    if facts.library.error is not None:
        return [Finding.problem("llama.cpp does not run on this processor", facts.library.error)]
    unused = [name for name in facts.features if _SETS[name][0] not in facts.library.uses]
    if serious := [_SETS[name][1] for name in unused if name not in _OPTIONAL]:
        return [
            Finding.warning(
                f"llama.cpp was built without {', '.join(serious)}, which this processor has",
                "build it on this machine for faster captions (docs/install.md)",
            )
        ]
    used = [_SETS[name][1] for name in facts.features if name not in unused]
    return [Finding.ok(f"llama.cpp runs, and uses {', '.join(used)}" if used else "llama.cpp runs")]
