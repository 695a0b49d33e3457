"""``surtitle bench``: its options. Most are settings, of which it compares several values."""

from pathlib import Path
from typing import Annotated, Any

import typer

from flows.measuring.subjects import Json, Limit, Markdown, Skip, subject
from flows.settings.lists import floats, integers, numbers_or, words
from flows.settings.loading import warn_of_unused_bias
from flows.settings.options import MODEL, TRANSLATION, Group, Option, Overrides, takes, usual
from operators.decoding.acceptance import NAMES
from operators.errors import UsageError


def _crossed(
    key: str, parse: Any, help: str, *names: str, default: str = "", stage: str = "translate"
) -> Option:
    """Values of a setting, separated by commas."""
    return Option(stage, key, str, names, help, default or usual(stage, key), parse)


def _compared(key: str, flag: str, help: str) -> Option:
    """A switch that also measures runs with the setting on, besides those with it off."""
    return Option("translate", key, bool, (flag,), help, "", lambda _flag, _given: (False, True))


#: The crossed settings. Values are passed under the setting's key; by default they are the product's.
GRID: Group = {
    "methods": _crossed(
        "method", words, "Any of surtitle's methods.", default=f"retranslate,{usual('translate', 'method')}"
    ),
    "bias": _crossed("bias", floats, "SSBD's biases, 0 to 1.", default="0.2"),
    "mask_k": _crossed(
        "mask_k", integers, "Tokens withheld from the display; they cost no run.", stage="display"
    ),
    "draft_mask": _crossed("draft_mask", integers, "Tokens cut from the end of SSBD's draft."),
    "commit": _crossed("commit", integers, "Clear passes after which a token is committed; 0: never."),
    "keep": Option(
        "translate", "keep", bool, ("--no-keep",),
        "Add SSBD that evaluates its whole draft at each update.", "", lambda _flag, _given: (True, False),
    ),
    "commit_gap": _crossed(
        "commit_gap", floats, "Logits by which a token must be the best one for a pass to be clear."
    ),
    "final_bias": _crossed(
        "final_bias", numbers_or(float, same="same"),
        "SSBD's biases at a segment's last update; 'same' for the others' bias.",
        default="what suits the model",
    ),
    "accept": _crossed(
        "accept", words, f"Acceptance rules: {NAMES}; auto is what suits the model.",
    ),
    "min_block": _crossed("min_block", integers, "Minimum length of a verified block."),
    "proposal_bias": _crossed(
        "proposal_bias", numbers_or(float, same="same"),
        "Biases towards tokens proposed after the divergence; 'same' for the others'.",
    ),
    "block": _crossed(
        "block", numbers_or(int, auto=None),
        "Tokens of a proposal; 'auto' for the fastest here, 8 in Jacobi's blocks.", default="auto",
    ),
    "sure": _crossed("sure", floats, "Minimum probability of a proposed token."),
    "heads": Option(
        "translate", "heads", str, (), "Proposal heads of the model, for heads among the --methods.", "",
        lambda _flag, path: (path,),
    ),
    "draft_model": Option(
        "translate", "draft_model", str, (),
        "A draft model of the same vocabulary; adds SSBD and recycling with it.", "",
        lambda _flag, model: (None, model),
    ),
    "draft_length": _crossed("draft_length", integers, "Maximum length of its drafts."),
    "draft_threshold": _crossed("draft_threshold", floats, "Probabilities below which it stops drafting."),
    "draft_tree": _compared("draft_tree", "--draft-tree", "Add the same with a tree of drafts."),
    "glossary": Option(
        "translate", "glossary", str, (),
        "Terms and their translations; adds every method with them, and counts the terms in the finals.", "",
        lambda _flag, path: (None, path),
    ),
    "dictionary": _crossed("dictionary", words, "Dictionaries: auto, none, or files."),
    "hold_back": _crossed("hold_back", integers, "Words held back until the next update."),
    "strip_punctuation": _compared(
        "strip_punctuation", "--strip-punctuation",
        "Add every method without the closing punctuation of unfinished text.",
    ),
    "drop_revised": _compared(
        "drop_revised", "--drop-revised", "Add SSBD that drops its draft when the source is revised."
    ),
}  # fmt: skip

#: One value for all methods.
COMMON: Group = {"close_unfinished": TRANSLATION["close_unfinished"]}


@subject("bench")
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
    from flows.measuring.methods.paper import GRIDS
    from flows.measuring.methods.plan import Grid, make_plan
    from flows.measuring.methods.run import BenchJob, benchmark

    common = overrides.get("translate", {}) | overrides.get("display", {})
    crossed = {key: common.pop(key) for key in Grid._fields if key in common}
    grid = Grid(**crossed)
    if plots is not None and grid.accept == Grid().accept:
        grid = grid._replace(accept=("bias",))
    if "heads" in crossed and "heads" not in grid.method:
        raise UsageError("--heads has no effect without the method; put heads among the --methods")
    warn_of_unused_bias(crossed, grid.method, grid.accept)
    benchmark(BenchJob(
        source=source, reference=reference, lag=lag, skip=skip, limit=limit,
        plan=make_plan(common, [grid, *(GRIDS if paper else ())]), repeats=repeat, fresh=fresh,
        json=json, markdown=markdown, plots=plots, paper=paper, comet=comet,
        likelihood=likelihood,
    ))  # fmt: skip
