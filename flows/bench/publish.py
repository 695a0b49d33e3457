"""Prints and writes the results of a benchmark."""

import sys
from collections.abc import Sequence
from typing import Any

import msgspec
from rich.console import Console

from connectors.files.whole import write_whole
from flows.bench.benchmark import BenchJob, BenchResults
from flows.bench.paper import paper_tables
from flows.bench.paper_run import PaperRun
from flows.bench.plan import USUAL
from flows.bench.signature import Signature
from flows.bench.tables import tables
from flows.pages.table import Table

#: Width of the output if it is not a terminal.
_PLAIN_WIDTH = 140


def publish(job: BenchJob, results: BenchResults) -> None:
    """Print the tables, and write the requested files. Raises `OutputError`."""
    plain = tables(results.rows)
    run = _run(job, results)
    shown = paper_tables(run) if job.paper else plain
    below = run.closing() if job.paper else []
    written = [path for path in (job.json, job.markdown) if path is not None]
    if job.json is not None:
        write_whole(job.json, msgspec.json.format(msgspec.json.encode(results)) + b"\n")
    if job.markdown is not None:
        write_whole(
            job.markdown,
            _document([*(shown if job.paper else ()), *plain], below, results.signature).encode(),
        )
    if job.plots is not None:
        # Imported here because it needs the packages of an extra.
        from flows.bench.plots import write_plots

        written += write_plots(results.rows, _caption(results.signature), job.plots)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _PLAIN_WIDTH)
    for table in shown:
        console.print(table.title, style="bold")
        console.print(table.rich())
        for note in table.notes:
            console.print(note, soft_wrap=True, markup=False)
        console.print()
    for line in below:
        console.print(line, soft_wrap=True, markup=False)
    if below:
        console.print()
    for name, value in signature_lines(msgspec.to_builtins(results.signature)):
        console.print(f"{name:>17}  {value}", soft_wrap=True, markup=False)
    for path in written:
        console.print(f"{'written':>17}  {path}", soft_wrap=True, markup=False)


def _run(job: BenchJob, results: BenchResults) -> PaperRun:
    """The facts about a run that the paper's tables need."""
    common = job.plan.variants[0]
    options: list[str] = []
    for option, value, usual in (
        ("--from", common.source, USUAL.source),
        ("--model", common.model, USUAL.model),
        ("--template", common.template, USUAL.template),
        ("--skip", job.skip, 0),
        ("--limit", job.limit, None),
    ):
        options += [option, str(value)] if value != usual else []
    return PaperRun(
        rows=results.rows,
        model=results.signature.model.file,
        corpus=results.signature.corpus,
        source=common.source,
        target=common.target,
        tokenizer=results.signature.tokenizer,
        text=str(job.source),
        reference=None if job.reference is None else str(job.reference),
        options=tuple(options),
    )


def _caption(signature: Signature) -> str:
    parts = (signature.model.file, signature.corpus, signature.cpu, f"{signature.threads} threads")
    return ", ".join((*parts, f"surtitle {signature.surtitle}"))


def _document(shown: Sequence[Table], below: Sequence[str], signature: Signature) -> str:
    parts = [table.markdown() for table in shown]
    if below:
        parts.append("  \n".join(below))
    parts.append(
        "\n".join(f"- {name}: `{value}`" for name, value in signature_lines(msgspec.to_builtins(signature)))
    )
    return "\n\n".join(parts) + "\n"


def signature_lines(signature: dict[str, Any]) -> list[tuple[str, str]]:
    """A signature, one line for each present field; models last."""
    models = {name: value for name, value in signature.items() if isinstance(value, dict)}
    plain = {name: value for name, value in signature.items() if name not in models and value is not None}
    shown = {
        name: f"{model.get('file')}|{model.get('bytes')} bytes|sha256:{model.get('sha256')}"
        for name, model in models.items()
    }
    return [(name, str(value)) for name, value in {**plain, **shown}.items()]
