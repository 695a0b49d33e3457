"""``surtitle bench``: its options. Most are settings, of which it compares several values."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from flows.measuring.subjects import Json, Limit, Markdown, Skip, subject
from flows.settings.lists import floats, integers, numbers_or, words
from flows.settings.loading import warn_of_unused_bias
from flows.settings.options import MODEL, Group, Override, Overrides, asks_for, declared, override, takes
from flows.settings.schema import MASK_K, TranslateSettings
from operators.decoding.acceptance import names
from operators.errors import UsageError
from operators.parts import Option

_VALUES: dict[Any, Callable[[str, str], Any]] = {
    int: integers, float: floats, str: words, bool: lambda _flag, _given: (False, True)
}  # fmt: skip


def _crossed(
    key: str, help: str, flags: str = "", default: str = "", parse: Callable[[str, str], Any] | None = None,
    stage: str = "translate",
) -> Override:  # fmt: skip
    """Values of a setting, separated by commas; of a switch, both."""
    kind = override(stage, key, Option(help)).kind
    only = f"--{key.replace('_', '-')}" if kind is bool else ""
    return override(stage, key, Option(help, flags or only, default, parse or _VALUES[kind]))


#: The crossed settings. Values are passed under the setting's key; by default they are the product's.
GRID: Group = (
    _crossed(
        "method", "Any of surtitle's methods.", "--methods", f"retranslate,{TranslateSettings().method}"
    ),
    _crossed("bias", "SSBD's biases, 0 to 1.", default=override("translate", "bias").default),
    _crossed(
        "mask_k", "Tokens withheld from the display; they cost no run.", stage="display", default=f"{MASK_K}"
    ),
    _crossed("draft_mask", "Tokens cut from the end of SSBD's draft."),
    _crossed("commit", "Clear passes after which a token is committed; 0: never."),
    _crossed(
        "keep", "Add SSBD that evaluates its whole draft at each update.", "--no-keep",
        parse=lambda _flag, _given: (True, False),
    ),
    _crossed("commit_gap", "Logits by which a token must be the best one for a pass to be clear."),
    _crossed(
        "final_bias", "SSBD's biases at a segment's last update; 'same' for the others' bias.",
        default="what suits the model", parse=numbers_or(float, same="same"),
    ),
    _crossed("accept", f"Acceptance rules: {names()}; auto is what suits the model."),
    _crossed("min_block", "Minimum length of a verified block."),
    _crossed(
        "proposal_bias", "Biases towards tokens proposed after the divergence; 'same' for the others'.",
        parse=numbers_or(float, same="same"),
    ),
    _crossed(
        "block", "Tokens of a proposal; 'auto' for the fastest here, 8 in Jacobi's blocks.", default="auto",
        parse=numbers_or(int, auto=None),
    ),
    _crossed("sure", "Minimum probability of a proposed token."),
    _crossed(
        "heads", "Proposal heads of the model, for heads among the --methods.",
        parse=lambda _flag, path: (path,),
    ),
    _crossed(
        "draft_model", "A draft model of the same vocabulary; adds SSBD and recycling with it.",
        parse=lambda _flag, model: (None, model),
    ),
    _crossed("draft_length", "Maximum length of its drafts."),
    _crossed("draft_threshold", "Probabilities below which it stops drafting."),
    _crossed("draft_tree", "Add the same with a tree of drafts."),
    _crossed(
        "glossary",
        "Terms and their translations; adds every method with them, and counts the terms in the finals.",
        parse=lambda _flag, path: (None, path),
    ),
    _crossed("dictionary", "Dictionaries: auto, none, or files."),
    _crossed("hold_back", "Words held back until the next update."),
    _crossed("strip_punctuation", "Add every method without the closing punctuation of unfinished text."),
    _crossed("drop_revised", "Add SSBD that drops its draft when the source is revised."),
)  # fmt: skip

#: One value for all methods.
COMMON: Group = declared("translate", "close_unfinished")


class BenchJob(msgspec.Struct, frozen=True, kw_only=True):
    """What to measure, and where the results go."""

    source: Annotated[Path, typer.Argument(help="A text (one segment per line), or partials (JSONL).")]
    reference: Annotated[Path | None, typer.Option(help="Its translation, line by line.")] = None
    lag: Annotated[int, typer.Option(min=1, help="Number of words that each update adds to a text.")] = 3
    limit: Limit = None
    skip: Skip = 0
    repeat: Annotated[int, typer.Option(min=1, help="Number of timed runs.")] = 3
    json: Json = None
    markdown: Markdown = None
    plots: Annotated[Path | None, typer.Option(help="Write pictures to this folder (SVG).")] = None
    paper: Annotated[bool, typer.Option("--paper", help="The tables of the SSBD paper.")] = False
    comet: Annotated[Path | None, typer.Option(help="A COMET checkpoint to score with.")] = None
    likelihood: Annotated[
        bool, typer.Option("--likelihood", help="Also score all outputs with the model itself.")
    ] = False
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over even if an earlier run was interrupted.")
    ] = False


@subject("bench")
@takes(MODEL, GRID, COMMON)
@asks_for(BenchJob)
def bench(job: BenchJob, overrides: Overrides) -> None:
    """Compare decoding methods: speed, quality, erasure.

    Separate several values by commas; all combinations are measured. Options that are not given have
    surtitle's defaults. An interrupted run resumes when it is started again.
    """
    # Imported here because other commands do not need it and should start fast.
    from flows.measuring.methods.paper import GRIDS
    from flows.measuring.methods.plan import Grid, make_plan
    from flows.measuring.methods.run import benchmark

    common = overrides.get("translate", {}) | overrides.get("display", {})
    crossed = {key: common.pop(key) for key in Grid._fields if key in common}
    grid = Grid(**crossed)
    if job.plots is not None and grid.accept == Grid().accept:
        grid = grid._replace(accept=("bias",))
    if "heads" in crossed and "heads" not in grid.method:
        raise UsageError("--heads has no effect without the method; put heads among the --methods")
    warn_of_unused_bias(crossed, grid.method, grid.accept)
    benchmark(job, make_plan(common, [grid, *(GRIDS if job.paper else ())]))
