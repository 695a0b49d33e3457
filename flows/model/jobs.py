"""Training runs, and their records."""

import hashlib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
from typing_extensions import override

from connectors.files.atomic import write_atomically
from connectors.files.contents import sha256_of
from connectors.files.distinct import check_distinct
from connectors.files.output import check_place, make_folder
from operators.errors import printable
from operators.seq2seq.firefox import is_firefox, only


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A training run on sentence pairs; writes one file."""

    model: str
    pairs: list[Path]
    output: Path
    source: str
    target: str
    prefixes: float = 0.5
    seed: int = 1

    def check(self, model: Path) -> None:
        """Raise `OutputError` or `UsageError` if its files cannot be written or are not distinct."""
        written = [("--output", self.output), ("its record", self._record), *self._more(model)]
        check_distinct(written, [model, *self.pairs])
        check_place(self.output)

    def _more(self, model: Path) -> list[tuple[str, Path]]:  # noqa: ARG002 - `HeadsJob` needs it
        """Other files that it writes; makes their folders."""
        return []

    @property
    def _record(self) -> Path:
        return self.output.with_name(f"{self.output.name}.json")

    def record(self, model: Path, *packages: str) -> dict[str, Any]:
        settings = msgspec.structs.asdict(self)
        for name in ("model", "pairs", "output", "tune_base"):
            settings.pop(name, None)
        weights = only(model, "model.*.bin") if is_firefox(model) else model
        return {
            "settings": settings,
            "model": {"name": weights.name, "sha256": sha256_of(weights)},
            "data": [{"name": path.name, "sha256": sha256_of(path)} for path in self.pairs],
            "versions": {name: version(name) for name in packages},
        }

    @property
    def written(self) -> str:
        size = self.output.stat().st_size / 1e6
        return f"{printable(str(self.output))}: {size:.1f} MB, sha256 {sha256_of(self.output)}"

    def write_record(self, record: dict[str, Any]) -> None:
        """Raises `OutputError`."""
        write_atomically(self._record, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")


class TrainingJob(Job, frozen=True, kw_only=True):
    epochs: int = 1
    rank: int = 32
    rate: float = 1e-4
    batch: int = 8

    def state(self, record: dict[str, Any]) -> Path:
        """The folder from which a stopped run of these settings and data resumes."""
        run = hashlib.sha256(msgspec.json.encode(record)).hexdigest()[:12]
        return self.output.with_name(f"{self.output.name}.{run}.state")


class HeadsJob(Job, frozen=True, kw_only=True):
    heads: int = 4
    prompts: int = 3000
    epochs: int = 8
    data: str = "distilled"
    beam: int = 1
    tune_base: Path | None = None

    @override
    def _more(self, model: Path) -> list[tuple[str, Path]]:
        if self.tune_base is None:
            return []
        make_folder(self.tune_base)
        return [("--tune-base", self.tune_base / only(model, "model.*.bin").name)]
