"""``surtitle bench``: its options, and what it prints and writes."""

from pathlib import Path
from typing import Annotated, Any

import typer

from connectors.messages.log import tell
from flows.cli.lists import numbers, words
from flows.running.dataflow import INTERRUPTED
from flows.settings.loading import tell_of_idle_bias
from flows.settings.options import usual
from flows.settings.schema import TranslateSettings
from operators.errors import UsageError

#: Re-translation is run in any case; here it is crossed with what concerns all methods, too.
METHODS = f"retranslate,{usual('translate', 'method')}"


def _setting(key: str, help: str, default: str = "", stage: str = "translate") -> Any:
    """An option that crosses values of a setting; not given, it is as in the product."""
    return typer.Option(help=help, show_default=default or usual(stage, key))


def bench(
    source: Annotated[Path, typer.Argument(help="A text (a segment a line), or partials (JSONL).")],
    reference: Annotated[Path | None, typer.Option(help="Its translation, line by line.")] = None,
    to: Annotated[str, typer.Option("--to", help="Language of the translation.")] = usual("translate", "to"),
    from_: Annotated[str, typer.Option("--from", help="Language of the source.")] = usual(
        "translate", "from"
    ),
    model: Annotated[str, typer.Option(help="Path of a GGUF file, or 'default'.")] = usual(
        "translate", "model"
    ),
    template: Annotated[
        str, typer.Option(help="few-shot, chat, tower, qwen3, or a .toml file of your own.")
    ] = usual("translate", "template"),
    lag: Annotated[int, typer.Option(min=1, help="Words that a text grows by at each update.")] = 3,
    methods: Annotated[str | None, _setting("method", "Any of surtitle's methods.", METHODS)] = None,
    bias: Annotated[str | None, _setting("bias", "SSBD's biases, 0 to 1.")] = None,
    mask_k: Annotated[
        str | None,
        _setting("mask_k", "Tokens withheld from the display; they cost no run.", stage="display"),
    ] = None,
    draft_mask: Annotated[
        str | None, _setting("draft_mask", "Tokens taken from the end of SSBD's draft.")
    ] = None,
    commit: Annotated[
        str | None, _setting("commit", "Clear passes until a token is believed; 0: never.")
    ] = None,
    commit_gap: Annotated[
        str | None,
        _setting("commit_gap", "Logits by which a token must be the best one for a pass to be clear."),
    ] = None,
    final_bias: Annotated[
        str | None,
        _setting(
            "final_bias",
            "SSBD's biases at a segment's last update; 'same' for the others' bias.",
            "what suits the model",
        ),
    ] = None,
    accept: Annotated[
        str | None,
        _setting("accept", "Rules by which draft tokens stand: bias, exact, worth-P, top-K, within-D."),
    ] = None,
    min_block: Annotated[
        str | None, _setting("min_block", "Tokens that a verified block takes at least.")
    ] = None,
    proposal_bias: Annotated[
        str | None,
        _setting(
            "proposal_bias", "Biases towards tokens proposed after the divergence; 'same' for the others'."
        ),
    ] = None,
    block: Annotated[
        str | None,
        _setting("block", "Tokens of a proposal; 'auto' for what pays here, 8 in Jacobi's blocks.", "auto"),
    ] = None,
    sure: Annotated[str | None, _setting("sure", "Least probability of a proposed token.")] = None,
    heads: Annotated[
        str | None, typer.Option(help="Proposal heads of the model, for heads among the --methods.")
    ] = None,
    draft_model: Annotated[
        str | None, typer.Option(help="A model of the same vocabulary; adds SSBD and recycling with it.")
    ] = None,
    draft_length: Annotated[str | None, _setting("draft_length", "Tokens that it drafts at most.")] = None,
    draft_threshold: Annotated[
        str | None, _setting("draft_threshold", "Probabilities below which it stops drafting.")
    ] = None,
    draft_tree: Annotated[
        bool, typer.Option("--draft-tree", help="Add the same with a tree of drafts.")
    ] = False,
    hold_back: Annotated[str | None, _setting("hold_back", "Words that wait for the next update.")] = None,
    strip_punctuation: Annotated[
        bool,
        typer.Option(
            "--strip-punctuation",
            help="Add every method without the closing punctuation of unfinished text.",
        ),
    ] = False,
    close_unfinished: Annotated[
        bool | None,
        typer.Option(
            help="Give unfinished text to the model with a full stop after it.",
            show_default="unless it was trained on such",
        ),
    ] = TranslateSettings().close_unfinished,
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

    Several values are separated by commas and crossed; what is not given is as surtitle runs by default.
    A run that was interrupted goes on where it was.
    """
    # Imported here: the other commands need none of it, and start the sooner.
    from flows.bench.benchmark import BenchJob, Interrupted, benchmark
    from flows.bench.paper import GRIDS
    from flows.bench.plan import Grid, make_plan
    from flows.bench.publish import publish

    common = {
        "from": from_, "to": to, "model": model, "template": template, "threads": threads,
        "close_unfinished": close_unfinished,
    }  # fmt: skip
    asked: dict[str, Any] = {
        "methods": words(methods),
        "biases": numbers("--bias", bias, float),
        "masks": numbers("--mask-k", mask_k, int),
        "commits": numbers("--commit", commit, int),
        "commit_gaps": numbers("--commit-gap", commit_gap, float),
        "draft_masks": numbers("--draft-mask", draft_mask, int),
        "final_biases": _final_biases(final_bias),
        "accepts": words(accept),
        "min_blocks": numbers("--min-block", min_block, int),
        "proposal_biases": numbers("--proposal-bias", proposal_bias, float, special="same"),
        "blocks": numbers("--block", block, int, special="auto"),
        "sures": numbers("--sure", sure, float),
        "heads": heads,
        "draft_models": None if draft_model is None else (None, draft_model),
        "draft_lengths": numbers("--draft-length", draft_length, int),
        "draft_thresholds": numbers("--draft-threshold", draft_threshold, float),
        "draft_trees": (False, True) if draft_tree else None,
        "hold_backs": numbers("--hold-back", hold_back, int),
        "drops": (False, True) if drop_revised else None,
        "strips": (False, True) if strip_punctuation else None,
    }
    grid = Grid(**{name: values for name, values in asked.items() if values is not None})
    if plots is not None and not paper and not ("ssbd" in grid.methods and "bias" in grid.accepts):
        raise UsageError(
            "--plots draws SSBD against its bias; put ssbd among the --methods and bias among --accept"
        )
    if heads is not None and "heads" not in grid.methods:
        raise UsageError("--heads has no effect without the method; put heads among the --methods")
    given = {"bias": bias, "final_bias": final_bias}
    tell_of_idle_bias([name for name in given if given[name] is not None], grid.methods, grid.accepts)
    job = BenchJob(
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


def _final_biases(text: str | None) -> list[Any] | None:
    found = numbers("--final-bias", text, float, special="same")
    return None if found is None else ["same" if bias is None else bias for bias in found]
