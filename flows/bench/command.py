"""``surtitle bench``: its options, and what it prints and writes."""

from pathlib import Path
from typing import Annotated, TypeVar

import typer

from connectors.messages import tell
from operators.errors import UsageError

T = TypeVar("T", int, float)

#: Exit code of a run that Ctrl-C ended (128 + SIGINT).
INTERRUPTED = 130


def bench(
    source: Annotated[Path, typer.Argument(help="A text (a segment a line), or partials (JSONL).")],
    reference: Annotated[Path | None, typer.Option(help="Its translation, line by line.")] = None,
    to: Annotated[str, typer.Option("--to", help="Language of the translation.")] = "German",
    from_: Annotated[str, typer.Option("--from", help="Language of the source.")] = "English",
    model: Annotated[str, typer.Option(help="Path of a GGUF file, or 'default'.")] = "default",
    template: Annotated[
        str, typer.Option(help="few-shot, chat, tower, qwen3, or a .toml file of your own.")
    ] = "auto",
    lag: Annotated[int, typer.Option(min=1, help="Words that a text grows by at each update.")] = 3,
    methods: Annotated[str, typer.Option(help="Any of surtitle's methods.")] = "retranslate,ssbd",
    bias: Annotated[str, typer.Option(help="SSBD's biases, 0 to 1.")] = "0.2",
    mask_k: Annotated[str, typer.Option(help="Tokens withheld from the display; they cost no run.")] = "3",
    draft_mask: Annotated[str, typer.Option(help="Tokens taken from the end of SSBD's draft.")] = "0",
    commit: Annotated[str, typer.Option(help="Clear passes until a token is believed; 0: never.")] = "0",
    commit_gap: Annotated[
        str, typer.Option(help="Logits by which a token must be the best one for a pass to be clear.")
    ] = "0",
    final_bias: Annotated[
        str, typer.Option(help="SSBD's biases at a segment's last update; 'same' for the others' bias.")
    ] = "same",
    accept: Annotated[
        str, typer.Option(help="Rules by which draft tokens stand: bias, exact, worth-P, top-K, within-D.")
    ] = "bias",
    min_block: Annotated[str, typer.Option(help="Tokens that a verified block takes at least.")] = "1",
    proposal_bias: Annotated[
        str, typer.Option(help="Biases towards tokens proposed after the divergence; 'same' likewise.")
    ] = "0",
    block: Annotated[
        str, typer.Option(help="Tokens of a proposal; 'auto' for what pays here, 8 in Jacobi's blocks.")
    ] = "auto",
    sure: Annotated[str, typer.Option(help="Least probability of a proposed token.")] = "0.4",
    hold_back: Annotated[str, typer.Option(help="Words that wait for the next update.")] = "0",
    strip_punctuation: Annotated[
        bool,
        typer.Option(
            "--strip-punctuation",
            help="Add every method without the closing punctuation of unfinished text.",
        ),
    ] = False,
    drop_revised: Annotated[
        bool, typer.Option("--drop-revised", help="Add SSBD that drops its draft when the source is revised.")
    ] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Segments to take.")] = None,
    skip: Annotated[int, typer.Option(min=0, help="Segments to leave out at the beginning.")] = 0,
    repeat: Annotated[int, typer.Option(min=1, help="How often everything is timed.")] = 3,
    threads: Annotated[
        int | None, typer.Option(help="Threads of the model.", show_default="measured")
    ] = None,
    json: Annotated[Path | None, typer.Option("--json", help="Write signature and rows here.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the tables here.")] = None,
    plots: Annotated[Path | None, typer.Option(help="Write pictures into this folder (SVG).")] = None,
    paper: Annotated[bool, typer.Option("--paper", help="The tables of the SSBD paper.")] = False,
    comet: Annotated[Path | None, typer.Option(help="A COMET checkpoint to score with.")] = None,
    likelihood: Annotated[
        bool, typer.Option("--likelihood", help="Have the model itself judge all outputs, too.")
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start anew even if a run broke off.")] = False,
) -> None:
    """Measure decoding methods side by side: speed, quality, erasure.

    Several values are separated by commas and crossed. A run that was interrupted goes on where it was.
    """
    # Imported here: the other commands need none of it, and start the sooner.
    from flows.bench.benchmark import Interrupted, Job, benchmark
    from flows.bench.paper import GRIDS
    from flows.bench.plan import Grid, make_plan
    from flows.bench.report import publish

    common = {"from": from_, "to": to, "model": model, "template": template, "threads": threads}
    grid = Grid(
        methods=_words(methods),
        biases=_numbers("--bias", bias, float),
        masks=_numbers("--mask-k", mask_k, int),
        commits=_numbers("--commit", commit, int),
        commit_gaps=_numbers("--commit-gap", commit_gap, float),
        draft_masks=_numbers("--draft-mask", draft_mask, int),
        final_biases=_numbers_or("same", "--final-bias", final_bias, float),
        accepts=_words(accept),
        min_blocks=_numbers("--min-block", min_block, int),
        proposal_biases=_numbers_or("same", "--proposal-bias", proposal_bias, float),
        blocks=_numbers_or("auto", "--block", block, int),
        sures=_numbers("--sure", sure, float),
        drop_revised=drop_revised,
        hold_backs=_numbers("--hold-back", hold_back, int),
        strips=(False, True) if strip_punctuation else (False,),
    )
    if plots is not None and "ssbd" not in grid.methods and not paper:
        raise UsageError("--plots draws SSBD against its bias; put ssbd among the --methods")
    job = Job(
        source=source, reference=reference, lag=lag, skip=skip, limit=limit,
        plan=make_plan(common, [grid, *(GRIDS if paper else ())]), repeats=repeat, fresh=fresh,
        json=json, markdown=markdown, plots=plots, paper=paper, comet=comet,
        likelihood=likelihood,
    )  # fmt: skip
    try:
        benchmark(job, lambda results: publish(job, results))
    except Interrupted as how_to_go_on:
        tell("bench_interrupted", str(how_to_go_on))
        raise typer.Exit(INTERRUPTED) from None


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _numbers_or(special: str, option: str, text: str, kind: type[T]) -> list[T | None]:
    """Numbers, and None where the ``special`` word stands."""
    words = _words(text) or [""]
    return [None if word == special else _numbers(option, word, kind)[0] for word in words]


def _numbers(option: str, text: str, kind: type[T]) -> list[T]:
    numbers = []
    for word in _words(text):
        try:
            numbers.append(kind(word))
        except ValueError:
            what = "a whole number" if kind is int else "a number"
            raise UsageError(f"{option}: {word!r} is not {what}; separate several by commas") from None
    if not numbers:
        raise UsageError(f"{option}: there is no value; give at least one")
    return numbers
