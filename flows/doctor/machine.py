"""This machine: its processor and llama.cpp on it, memory, disk, ports, terminal, installed extras.

Each subject is a type of facts, which looks at the machine and judges what it has seen.
"""

import os
import shutil
import socket
import sys
import tempfile
from pathlib import Path
from typing import Self

import msgspec
from platformdirs import user_cache_path
from rich.console import Console

from connectors.http.access import LOCAL
from connectors.http.listener import listen
from connectors.machine.resources import available_mb, cpu_features, cpu_name, limits, usable_cores
from connectors.models.catalog import BESIDES_MB
from connectors.sinks.part import SINKS
from flows.doctor.child import in_child
from flows.doctor.finding import Finding
from flows.settings.schema import WebSettings
from operators.errors import OutputError, SurtitleError
from operators.extras import EXTRAS, Extra, installing, missing
from operators.recognizers.part import RECOGNIZERS

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
# Set-up leaves AMX out where it is slower; docs/start.md says when.
_OPTIONAL = frozenset(("amx_int8",))


class Library(msgspec.Struct, frozen=True):
    """What llama.cpp says of itself."""

    #: Why it does not run here; None if it does.
    error: str | None = None
    #: The instruction sets that it uses, as it names them.
    uses: tuple[str, ...] = ()


def library() -> Library:
    """Ask llama.cpp; importing it can end the process."""
    from connectors.machine.trial import require_library

    try:
        require_library()
    except SurtitleError as error:
        return Library(error=str(error))
    import llama_cpp

    said: str = llama_cpp.llama_print_system_info().decode("utf-8", "replace")
    sets = [part.partition(" = ") for part in said.replace("|", ":").split(":")]
    return Library(uses=tuple(name.strip() for name, _, value in sets if value.strip() == "1"))


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

    @classmethod
    def look(cls, limit_s: float) -> Self:
        """Look at the processor; llama.cpp is tried in a child process."""
        features = cpu_features()
        return cls(
            name=cpu_name().rpartition(",")[0],
            cores=os.cpu_count() or 1,
            usable=usable_cores(),
            quota=limits().cores,
            features=tuple(name for name in _SETS if name in features),
            library=in_child(
                Library, "machine.library", limit_s=limit_s, failed="llama.cpp {}; install surtitle again"
            ),
        )

    def judge(self) -> list[Finding]:
        """Whether captions can be computed here."""
        return [self._cores(), self._library()]

    def _cores(self) -> Finding:
        share = min(self.usable, self.quota or self.usable)
        plural = "core" if share == 1 else "cores"
        of = f" of {self.cores}" if share < self.cores else ""
        sentence = f"{self.name}: {share:g}{of} {plural} can be used"
        if share < 1:
            return Finding.warning(
                sentence, "give the container at least two cores; with less, captions come late"
            )
        if share < 2:
            return Finding.warning(
                sentence, "give surtitle two cores: the recogniser and the translator would share this one"
            )
        return Finding.ok(sentence)

    def _library(self) -> Finding:
        if self.library.error is not None:
            return Finding.problem("llama.cpp does not run on this processor", self.library.error)
        unused = [name for name in self.features if _SETS[name][0] not in self.library.uses]
        if serious := [_SETS[name][1] for name in unused if name not in _OPTIONAL]:
            return Finding.warning(
                f"llama.cpp was built without {', '.join(serious)}, which this processor has",
                "build it on this machine for faster captions (docs/start.md)",
            )
        used = [_SETS[name][1] for name in self.features if name not in unused]
        return Finding.ok(f"llama.cpp runs, and uses {', '.join(used)}" if used else "llama.cpp runs")


class MemoryFacts(msgspec.Struct, frozen=True):
    """Megabytes."""

    #: Free memory of the machine, and what the container still allows; None if unknown or unlimited.
    available_mb: float | None
    allowed_mb: float | None
    #: Size of the model's file; None if there is none.
    model_mb: float | None

    @classmethod
    def look(cls, model_mb: float | None) -> Self:
        """Look at the memory."""
        allowed = limits().memory
        return cls(available_mb(), None if allowed is None else allowed / 1e6, model_mb)

    def judge(self) -> list[Finding]:
        """Whether a run with the model fits into the memory."""
        free = min((mb for mb in (self.available_mb, self.allowed_mb) if mb is not None), default=None)
        if free is None:
            return [Finding.ok("This system does not tell how much memory is free")]
        needed = BESIDES_MB + (self.model_mb or 0.0)
        sentence = f"{free:,.0f} MB are free, and captions need about {needed:,.0f} MB"
        if free >= needed:
            return [Finding.ok(sentence)]
        if free < (self.model_mb or 0.0):
            return [Finding.problem(sentence, "choose a smaller model with --model, or allow more memory")]
        return [Finding.warning(sentence, "close other programs, or allow more memory")]


#: Megabytes that the default models take in the cache, and the results of a long talk: an hour of sound, 115.
_CACHE_MB, _RESULTS_MB = 400.0, 200.0


class Folder(msgspec.Struct, frozen=True):
    """A folder that surtitle writes to."""

    path: str
    #: Why no file can be made there; None if one can.
    error: str | None
    free_mb: float

    @classmethod
    def look(cls, path: Path, *, make: bool) -> Self:
        """Make a file in a folder, and before that the folder if it is to be made."""
        error = None
        try:
            if make:
                path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=path) as file:
                file.write(b"surtitle")
        except OSError as failed:
            error = failed.strerror or str(failed)
        existing = next((one for one in (path, *path.parents) if one.is_dir()), Path("/"))
        return cls(str(path), error, shutil.disk_usage(existing).free / 1e6)

    def judge(self, name: str, needed_mb: float, elsewhere: str) -> Finding:
        """Whether there is space for a number of megabytes."""
        if self.error is not None:
            return Finding.warning(f"{name} {self.path} cannot be written: {self.error}", elsewhere)
        sentence = f"{name} {self.path} can be written, {self.free_mb / 1000:,.1f} GB are free"
        if self.free_mb < needed_mb:
            return Finding.warning(sentence, f"free {needed_mb:.0f} MB, or {elsewhere}")
        return Finding.ok(sentence)


class DiskFacts(msgspec.Struct, frozen=True):
    """Both folders."""

    cache: Folder
    #: The working directory, where results are written unless a path is given.
    results: Folder

    @classmethod
    def look(cls) -> Self:
        """Look at the folders."""
        return cls(Folder.look(user_cache_path("surtitle"), make=True), Folder.look(Path.cwd(), make=False))

    def judge(self) -> list[Finding]:
        """Whether models can be kept and results written."""
        elsewhere = "set XDG_CACHE_HOME to a folder on another disk"
        named = "write results elsewhere, with paths in the options"
        return [
            self.cache.judge("The cache folder", _CACHE_MB, elsewhere),
            self.results.judge("This folder", _RESULTS_MB, named),
        ]


#: Who uses a port, the option that names another one, and the port.
_PORTS = (("the web page", "--port", WebSettings().port), ("metrics", "--metrics", 9464))


class Port(msgspec.Struct, frozen=True):
    """One port of this machine."""

    #: What surtitle serves there, and the option that chooses another port.
    use: str
    option: str
    number: int
    is_free: bool


class PortFacts(msgspec.Struct, frozen=True):
    """All ports that surtitle uses by default or by its documentation."""

    ports: tuple[Port, ...]

    @classmethod
    def look(cls) -> Self:
        """Listen at each port for a moment."""
        return cls(tuple(Port(use, option, number, _is_free(number)) for use, option, number in _PORTS))

    def judge(self) -> list[Finding]:
        """Whether the usual ports can be used."""
        taken = [
            Finding.warning(
                f"port {one.number} of {one.use} is taken by another program",
                f"choose another one with {one.option} {one.number + 1}, or end that program",
            )
            for one in self.ports
            if not one.is_free
        ]
        free = [f"{one.number} ({one.use})" for one in self.ports if one.is_free]
        return taken or [Finding.ok(f"{' and '.join(free)} are free")]


def _is_free(number: int) -> bool:
    try:
        found: socket.socket = listen(LOCAL, number, what="", instead="", backlog=1)
    except OutputError:
        return False
    found.close()
    return True


#: Columns of a caption line in most languages; rows of the captions and the status line.
_COLUMNS, _ROWS = 42, 4


class TerminalFacts(msgspec.Struct, frozen=True):
    """Standard output."""

    is_terminal: bool
    encoding: str
    columns: int
    rows: int
    has_colors: bool
    #: The variable of the environment that chooses the encoding; empty if none is set.
    locale: str

    @classmethod
    def look(cls) -> Self:
        """Look at standard output."""
        size = shutil.get_terminal_size()
        # The progress line stands in for sys.stdout while it is shown.
        output = sys.__stdout__ or sys.stdout
        names = ("LC_ALL", "LC_CTYPE", "LANG")
        return cls(
            is_terminal=output.isatty(),
            encoding=output.encoding or "",
            columns=size.columns,
            rows=size.lines,
            has_colors=Console(file=output).color_system is not None,
            locale=next((os.environ[name] for name in names if os.environ.get(name)), ""),
        )

    def judge(self) -> list[Finding]:
        """Whether captions can be shown here as they are meant."""
        found = []
        if self.encoding.lower().replace("-", "").replace("_", "") != "utf8":
            found.append(
                Finding.warning(
                    f"The encoding is {self.encoding or 'unknown'}, which lacks letters of many languages",
                    "choose UTF-8: export LC_ALL=C.UTF-8",
                )
            )
        if not self.is_terminal:
            return [*found, Finding.ok("The output is not a terminal: captions are printed as lines")]
        if self.columns < _COLUMNS or self.rows < _ROWS:
            found.append(
                Finding.warning(
                    f"The terminal has {self.columns} columns and {self.rows} rows: captions are broken up",
                    f"enlarge it to {_COLUMNS} columns and {_ROWS} rows",
                )
            )
        colors = "colours" if self.has_colors else "no colours"
        return found or [Finding.ok(f"{self.columns} columns, {self.rows} rows, {self.encoding}, {colors}")]


def all_extras() -> dict[str, Extra]:
    """The extras by name: those of recognisers and sinks, and the others."""
    own = [*(one.extra for one in RECOGNIZERS.values()), *(one.extra for one in SINKS.values())]
    return {extra.name: extra for extra in own if extra is not None} | EXTRAS


class ExtraFacts(msgspec.Struct, frozen=True):
    """The extras of the package, by name."""

    installed: tuple[str, ...]
    absent: tuple[str, ...]

    @classmethod
    def look(cls) -> Self:
        """Look for the packages of each extra, without importing them."""
        absent = tuple(name for name, extra in all_extras().items() if missing(extra) is not None)
        return cls(tuple(name for name in all_extras() if name not in absent), absent)

    def judge(self) -> list[Finding]:
        """Absent extras are no defect: only some runs need one."""
        found = []
        if self.installed:
            found.append(Finding.ok(f"Installed: {', '.join(self.installed)}"))
        if self.absent:
            listed = ", ".join(f"{name} ({all_extras()[name].purpose})" for name in self.absent)
            found.append(Finding.ok(f"Not installed: {listed}. To add: {installing(*self.absent)}"))
        return found
