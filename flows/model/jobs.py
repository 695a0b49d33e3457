"""The options of the training commands, and the records of their runs."""

import hashlib
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from connectors.files.atomic import write_atomically
from connectors.files.contents import sha256_of
from connectors.files.distinct import check_distinct
from connectors.models.gguf import check_place
from flows.settings.translate import TranslateSettings

_LANGUAGES = TranslateSettings()


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A run that learns from pairs of texts, and writes one file."""

    model: Annotated[str, typer.Argument(help="The model: a GGUF file, 'captions', 'base'.")]
    pairs: Annotated[
        list[Path],
        typer.Option(
            help="Sentence pairs: a source, a tab and its translation in each line (.gz too). "
            "May be repeated."
        ),
    ]
    output: Annotated[Path, typer.Option("-o", "--output", help="File to write (.gguf).")]
    source: Annotated[str, typer.Option("--from", help="Language of the speech.")] = _LANGUAGES.source
    target: Annotated[str, typer.Option("--to", help="Language of the captions.")] = _LANGUAGES.target
    prefixes: Annotated[
        float, typer.Option(min=0, max=1, help="Share of examples that are unfinished speech.")
    ] = 0.5
    seed: Annotated[int, typer.Option(help="Random seed.")] = 1

    def check(self, model: Path) -> None:
        """Check that the files can be written. Raises `OutputError` and `UsageError`."""
        check_distinct([("--output", self.output), ("its record", self._record)], [model, *self.pairs])
        check_place(self.output)

    @property
    def _record(self) -> Path:
        return self.output.with_name(f"{self.output.name}.json")

    def record(self, model: Path, *packages: str) -> dict[str, Any]:
        """Settings, data and versions of the run, for its record."""
        settings = msgspec.structs.asdict(self)
        del settings["model"], settings["pairs"], settings["output"]
        return {
            "settings": settings,
            "model": {"name": model.name, "sha256": sha256_of(model)},
            "data": [{"name": path.name, "sha256": sha256_of(path)} for path in self.pairs],
            "versions": {name: version(name) for name in packages},
        }

    def write_record(self, record: dict[str, Any]) -> None:
        """Write a record next to the output. Raises `OutputError`."""
        write_atomically(self._record, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")


class TrainingJob(Job, frozen=True, kw_only=True):
    """``surtitle model train``."""

    epochs: Annotated[int, typer.Option(min=1, help="Number of times to learn each pair.")] = 1
    rank: Annotated[int, typer.Option(min=1, max=256, help="Rank of the adapter.")] = 32
    rate: Annotated[float, typer.Option(min=1e-7, max=1e-1, help="Highest learning rate.")] = 1e-4
    batch: Annotated[int, typer.Option(min=1, max=4096, help="Examples per step.")] = 8

    def state(self, record: dict[str, Any]) -> Path:
        """The folder from which a stopped run of these settings and data resumes."""
        run = hashlib.sha256(msgspec.json.encode(record)).hexdigest()[:12]
        return self.output.with_name(f"{self.output.name}.{run}.state")


class HeadsJob(Job, frozen=True, kw_only=True):
    """``surtitle model heads``."""

    heads: Annotated[int, typer.Option(min=1, max=16, help="Number of heads.")] = 4
    prompts: Annotated[
        int, typer.Option(min=1, help="Number of sources whose translations are learned from.")
    ] = 3000
    epochs: Annotated[int, typer.Option(min=1, help="Number of times to learn each translation.")] = 8
