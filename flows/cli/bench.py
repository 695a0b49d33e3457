"""``surtitle bench``: its options, and what it prints and writes."""

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.bench_options import COMMON, GRID, Json, Limit, Markdown, Skip
from flows.settings.loading import warn_of_unused_bias
from flows.settings.options import MODEL, Overrides, takes
from operators.errors import UsageError


@takes(MODEL, GRID, COMMON)
def bench(
    source: Annotated[Path, typer.Argument(help="A text (one segment per line), or partials (JSONL).")],
    overrides: Overrides,
    reference: Annotated[Path | None, typer.Option(help="Its translation, line by line.")] = None,
    lag: Annotated[int, typer.Option(min=1, help="Number of words that each update adds to a text.")] = 3,
    limit: Limit = None,
    skip: Skip = 0,
    repeat: Annotated[int, typer.Option(min=1, help="Number of timed runs.")] = 3,
    json: Json = None,
    markdown: Markdown = None,
    plots: Annotated[Path | None, typer.Option(help="Write pictures to this folder (SVG).")] = None,
    paper: Annotated[bool, typer.Option("--paper", help="The tables of the SSBD paper.")] = False,
    comet: Annotated[Path | None, typer.Option(help="A COMET checkpoint to score with.")] = None,
    likelihood: Annotated[
        bool, typer.Option("--likelihood", help="Also score all outputs with the model itself.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over even if an earlier run was interrupted.")
    ] = False,
) -> None:
    """Compare decoding methods: speed, quality, erasure.

    Separate several values by commas; all combinations are measured. Options that are not given have
    surtitle's defaults. An interrupted run resumes when it is started again.
    """
    # Imported here because other commands do not need it and should start fast.
    from flows.bench.benchmark import BenchJob, benchmark
    from flows.bench.paper import GRIDS
    from flows.bench.plan import Grid, make_plan
    from flows.bench.publish import publish

    common = overrides.get("translate", {}) | overrides.get("display", {})
    crossed = {key: common.pop(key) for key in Grid._fields if key in common}
    grid = Grid(**crossed)
    if plots is not None and grid.accept == Grid().accept:
        grid = grid._replace(accept=("bias",))
    if "heads" in crossed and "heads" not in grid.method:
        raise UsageError("--heads has no effect without the method; put heads among the --methods")
    warn_of_unused_bias(crossed, grid.method, grid.accept)
    job = BenchJob(
        source=source, reference=reference, lag=lag, skip=skip, limit=limit,
        plan=make_plan(common, [grid, *(GRIDS if paper else ())]), repeats=repeat, fresh=fresh,
        json=json, markdown=markdown, plots=plots, paper=paper, comet=comet,
        likelihood=likelihood,
    )  # fmt: skip
    benchmark(job, lambda results: publish(job, results))
