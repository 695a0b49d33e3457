"""Prints and writes the results of a benchmark."""

from pathlib import Path

import msgspec

from flows.bench.benchmark import BenchJob, BenchResults
from flows.bench.paper import paper_tables
from flows.bench.paper_run import PaperRun
from flows.bench.plan import USUAL
from flows.bench.signature import Signature
from flows.bench.tables import tables
from flows.pages.results import print_results, write_json, write_markdown


def publish(job: BenchJob, results: BenchResults) -> None:
    """Print the tables, and write the requested files. Raises `OutputError`."""
    plain = tables(results.rows)
    run = _run(job, results)
    shown = paper_tables(run) if job.paper else plain
    below = run.closing() if job.paper else []
    signature = msgspec.to_builtins(results.signature)
    write_json(job.json, results)
    write_markdown(job.markdown, [*(shown if job.paper else ()), *plain], signature, below)
    plots: list[Path] = []
    if job.plots is not None:
        # Imported here because it needs the packages of an extra.
        from flows.bench.plots import write_plots

        plots = write_plots(results.rows, _caption(results.signature), job.plots)
    print_results(shown, signature, [job.json, job.markdown, *plots], below)


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
