"""``surtitle bench``: its options, most of them settings, and the plan of the rows that their values give."""

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import typer
from msgspec.structs import replace

from flows.measuring.subjects import Json, Limit, Markdown, Skip, subject
from flows.settings.lists import floats, integers, numbers_or, words
from flows.settings.loading import load_settings, warn_of_unused_bias
from flows.settings.methods import METHODS as PARTS
from flows.settings.options import MODEL, Group, Override, Overrides, asks_for, declared, override, takes
from flows.settings.output import MASK_K
from flows.settings.translate import METHOD_NAMES, PROPOSING, SPECULATIVE, TranslateSettings
from operators.decoding.acceptance import BIAS, names
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
    _crossed(
        "beam", "Continuations of SSBD's beam search; 1: none.", default="what suits the model",
        parse=integers,
    ),
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
    _crossed("dictionary", "Dictionaries: auto, none, or files.", parse=words),
    _crossed(
        "hold_back", "Words held back until the next update.", default="what suits the model", parse=integers
    ),
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
    from flows.measuring.methods.run import benchmark

    common = overrides.get("translate", {}) | overrides.get("display", {})
    crossed = {one.key: common.pop(one.key) for one in GRID if one.key in common}
    grid = make_grid(**crossed)
    if job.plots is not None and grid["accept"] == make_grid()["accept"]:
        grid["accept"] = ("bias",)
    if "heads" in crossed and "heads" not in grid["method"]:
        raise UsageError("--heads has no effect without the method; put heads among the --methods")
    warn_of_unused_bias(crossed, grid["method"], grid["accept"])
    benchmark(job, make_plan(common, [grid, *(GRIDS if job.paper else ())]))


#: The method that all others are compared with.
BASELINE = "retranslate"
#: The methods whose proposals are as long as their probability allows.
SURE = tuple(one.name for one in PARTS.values() if one.weighs_costs)
#: The product's defaults, which a grid measures unless it says otherwise.
USUAL = TranslateSettings()
#: The values to cross, by the settings' keys; as in these, None stands for none or for the default.
Grid = dict[str, Sequence[Any]]

_KEYS = tuple(option.key for option in GRID)


def make_grid(**values: Sequence[Any]) -> Grid:
    """A grid of these values, and of the product's defaults for all other settings.

    All values except methods, masks, glossaries, dictionaries and conditioning only apply to methods that
    verify a draft. Masks need no extra runs. ``same`` is the bias of the row.
    """
    usual = {key: (getattr(USUAL, key),) for key in _KEYS if key != "mask_k"}
    return usual | {"method": (BASELINE, USUAL.method), "mask_k": (MASK_K,)} | values


#: The settings that apply to every method: masks, glossaries, dictionaries, and source conditioning.
_CONDITIONING = ("hold_back", "strip_punctuation")
_OF_EACH = ("glossary", "dictionary", *_CONDITIONING)
_OF_ALL = ("method", "mask_k", *_OF_EACH)
#: The order in which the others are crossed, and thus the order of the rows.
_CROSSED = ("drop_revised", *(key for key in _KEYS if key not in (*_OF_ALL, "drop_revised")))
#: The methods that a setting applies to, if these are not all methods that verify a draft.
_CONCERNED: dict[str, Sequence[str]] = {
    "proposal_bias": PROPOSING,
    "beam": ("ssbd",),
    "block": PROPOSING,
    "sure": SURE,
    "heads": ("heads",),
    "draft_model": PARTS["draft-model"].joins,
}


class Plan(NamedTuple):
    """The translators to run: one for each entry of ``variants``, the baseline first."""

    variants: tuple[TranslateSettings, ...]
    masks: tuple[int, ...]

    @property
    def engine(self) -> TranslateSettings:
        """The settings of the common engine, with a draft model, heads or glossary if a variant needs it."""
        more = [one for one in self.variants if one.draft_model is not None or one.heads is not None]
        common = max(more, key=lambda variant: variant.draft_tree, default=self.variants[0])
        glossaries = (one.glossary for one in self.variants if one.glossary is not None)
        keep = any(one.keep for one in self.variants)
        beam = max(one.width(knows_unfinished=True) for one in self.variants)
        return replace(common, glossary=next(glossaries, None), keep=keep, beam=beam)


def make_plan(common: dict[str, Any], grids: Sequence[Grid]) -> Plan:
    """Cross the values of each grid; combinations that occur in several grids are run once.

    ``common`` holds the settings of the translate stage that all methods share; the baseline is
    re-translation of the whole text. Raises `UsageError` for an invalid value.
    """
    variants = [_variant({**common, "dictionary": grids[0]["dictionary"][0]}, method=BASELINE)]
    masks: list[int] = []
    for grid in grids:
        for method, *values in product(grid["method"], *(grid[key] for key in _OF_EACH)):
            variants += _of_method({**common, **dict(zip(_OF_EACH, values, strict=True))}, method, grid)
        masks += grid["mask_k"]
    for one in variants:
        PARTS["heads"].check(one)
    if {True, False} <= {one.heads is None for one in variants if one.draft_model or one.heads}:
        raise UsageError(
            "compare a draft model and proposal heads in two separate runs; leave one of them out"
        )
    if any(mask < 0 for mask in masks):
        raise UsageError(f"--mask-k: {min(masks)} tokens cannot be withheld; give 0 or more")
    return Plan(tuple(dict.fromkeys(variants)), tuple(dict.fromkeys(masks)))


def columns_of(settings: TranslateSettings, *, knows_unfinished: bool = False) -> dict[str, Any]:
    """The settings columns of a row; those that the method does not use are empty or 0.

    ``knows_unfinished`` says whether the model was trained on unfinished text.
    """
    speculates, proposes = settings.method in SPECULATIVE, settings.method in PROPOSING
    rules = settings.rules(knows_unfinished=knows_unfinished).used()
    drafted = {key: getattr(settings, key) for key in ("draft_length", "draft_threshold")}
    return {
        **{key: getattr(settings, key) for key in _KEYS if key != "mask_k"},
        **{key: value if speculates else None for key, value in rules.items()},
        **{key: value if settings.draft_model else None for key, value in drafted.items()},
        "beam": settings.width(knows_unfinished=knows_unfinished),
        "proposal_bias": settings.proposal_bias if proposes else None,
        "sure": settings.sure if settings.method in SURE else None,
    }


def _of_method(common: dict[str, Any], method: str, grid: Grid) -> list[TranslateSettings]:
    if method not in SPECULATIVE:
        if method not in METHOD_NAMES:
            raise UsageError(
                f"--methods: there is no method {method!r}; choose from {', '.join(METHOD_NAMES)}"
            )
        return [_variant(common, method=method)]
    axes = [
        grid[key] if method in _CONCERNED.get(key, SPECULATIVE) else (getattr(USUAL, key),)
        for key in _CROSSED
    ]
    return [
        _variant(common, method=method, **_own(dict(zip(_CROSSED, values, strict=True))))
        for values in product(*axes)
    ]


def _own(values: dict[str, Any]) -> dict[str, Any]:
    """One combination without settings that have no effect in it, so that equivalent ones are run once."""
    own = dict(values)
    if own["accept"] not in ("bias", "auto"):  # another rule replaces both, and the sweep over them
        own |= {"bias": None, "final_bias": None}
    bias = BIAS if own["bias"] is None else own["bias"]
    own["final_bias"] = bias if own["final_bias"] == "same" else own["final_bias"]
    own["proposal_bias"] = bias if own["proposal_bias"] == "same" else own["proposal_bias"]
    if own["commit"] == 0:
        own |= {"commit_gap": 0.0, "keep": False}
    if own["draft_model"] is None:
        own |= {name: getattr(USUAL, name) for name in ("draft_length", "draft_threshold", "draft_tree")}
    return own


def _variant(common: dict[str, Any], **own: Any) -> TranslateSettings:
    if own["method"] not in SPECULATIVE:
        own |= {"commit": 0, "keep": False}  # the default is that of methods with a draft
    return load_settings(None, {"translate": {**common, **own}}).translate
