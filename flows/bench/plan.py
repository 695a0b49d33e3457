"""Which methods and settings a benchmark compares: a grid, its rows, and re-translation before all others."""

from collections.abc import Sequence
from itertools import product
from typing import Any, Literal, NamedTuple, get_args, get_type_hints

from flows.engine.draft_model import DRAFTED
from flows.engine.heads import METHOD as HEADS
from flows.engine.heads import check_heads
from flows.engine.methods import final_bias
from flows.settings.loading import load_settings
from flows.settings.schema import PROPOSING, SPECULATIVE, DisplaySettings, TranslateSettings
from operators.errors import UsageError

METHODS: tuple[str, ...] = get_args(get_type_hints(TranslateSettings)["method"])


#: The method that all others are compared with.
BASELINE = "retranslate"
#: The methods that propose as much as is sure enough.
SURE = ("recycle", HEADS)
#: The product as it runs by default, which a grid measures unless it says otherwise.
USUAL = TranslateSettings()


class Grid(NamedTuple):
    """The values to cross; all but the methods, masks and conditioning concern those that verify a draft."""

    methods: Sequence[str] = (BASELINE, USUAL.method)
    biases: Sequence[float] = (USUAL.bias,)
    #: Tokens that the display withholds. They cost no run of their own.
    masks: Sequence[int] = (DisplaySettings().mask_k,)
    commits: Sequence[int] = (USUAL.commit,)
    commit_gaps: Sequence[float] = (USUAL.commit_gap,)
    draft_masks: Sequence[int] = (USUAL.draft_mask,)
    #: Biases of a segment's last update; "same" for the bias of the row, None for what suits the model.
    final_biases: Sequence[float | Literal["same"] | None] = (USUAL.final_bias,)
    #: Rules by which draft tokens stand, and tokens that a verified block takes at least.
    accepts: Sequence[str] = (USUAL.accept,)
    min_blocks: Sequence[int] = (USUAL.min_block,)
    #: Proposals after the divergence: biases towards them, None for the bias of the row, their length, their
    #: least probability.
    proposal_biases: Sequence[float | None] = (USUAL.proposal_bias,)
    blocks: Sequence[int | None] = (USUAL.block,)
    sures: Sequence[float] = (USUAL.sure,)
    #: Second models, None for none, and how they draft; for SSBD and recycling.
    draft_models: Sequence[str | None] = (USUAL.draft_model,)
    draft_lengths: Sequence[int] = (USUAL.draft_length,)
    draft_thresholds: Sequence[float] = (USUAL.draft_threshold,)
    draft_trees: Sequence[bool] = (USUAL.draft_tree,)
    #: The file of the method ``heads``.
    heads: str | None = USUAL.heads
    #: Whether the draft is dropped whenever the source is revised.
    drops: Sequence[bool] = (USUAL.drop_revised,)
    #: Words at the end of unfinished text that wait, with every method.
    hold_backs: Sequence[int] = (USUAL.hold_back,)
    #: Whether the closing punctuation of unfinished text is taken away, with every method.
    strips: Sequence[bool] = (USUAL.strip_punctuation,)


class Plan(NamedTuple):
    """What is run: a translator for each entry of ``variants``, the baseline first."""

    variants: tuple[TranslateSettings, ...]
    masks: tuple[int, ...]

    @property
    def engine(self) -> TranslateSettings:
        """Settings of the engine that all variants run on, with a draft model or heads if one has them."""
        more = [one for one in self.variants if one.draft_model is not None or one.heads is not None]
        return max(more, key=lambda variant: variant.draft_tree, default=self.variants[0])


def make_plan(common: dict[str, Any], grids: Sequence[Grid]) -> Plan:
    """Cross the values of each grid; what several of them ask for is run once.

    ``common`` are settings of the translate stage that all methods share; the baseline is re-translation
    of the whole text. Raises `UsageError` for a value that no translator can have.
    """
    variants = [_variant(common, method=BASELINE)]
    masks: list[int] = []
    for grid in grids:
        for method, hold_back, strip in product(grid.methods, grid.hold_backs, grid.strips):
            conditioning = {"hold_back": hold_back, "strip_punctuation": strip}
            variants += _of_method({**common, **conditioning}, method, grid)
        masks += grid.masks
    for one in variants:
        check_heads(one)
    if {True, False} <= {one.heads is None for one in variants if one.draft_model or one.heads}:
        raise UsageError("a draft model and proposal heads are compared in two runs; leave one of them out")
    if any(mask < 0 for mask in masks):
        raise UsageError(f"--mask-k: {min(masks)} tokens cannot be withheld; give 0 or more")
    return Plan(tuple(dict.fromkeys(variants)), tuple(dict.fromkeys(masks)))


def columns_of(settings: TranslateSettings, *, knows_unfinished: bool = False) -> dict[str, Any]:
    """The columns of a row that name its settings; those that the method does not use are empty or 0.

    ``knows_unfinished`` says whether the model was trained on unfinished text.
    """
    speculates, proposes = settings.method in SPECULATIVE, settings.method in PROPOSING
    is_biased = speculates and settings.accept == "bias"
    return {
        "method": settings.method,
        "bias": settings.bias if is_biased else None,
        "final_bias": final_bias(settings, knows_unfinished=knows_unfinished) if is_biased else None,
        "accept": settings.accept if speculates else None,
        "min_block": settings.min_block,
        "proposal_bias": settings.proposal_bias if proposes else None,
        "block": settings.block,
        "sure": settings.sure if settings.method in SURE else None,
        "heads": settings.heads,
        "draft_mask": settings.draft_mask,
        "commit": settings.commit,
        "commit_gap": settings.commit_gap,
        "draft_model": settings.draft_model,
        "draft_length": settings.draft_length if settings.draft_model else None,
        "draft_threshold": settings.draft_threshold if settings.draft_model else None,
        "draft_tree": settings.draft_tree,
        "hold_back": settings.hold_back,
        "strip_punctuation": settings.strip_punctuation,
        "drop_revised": settings.drop_revised,
    }


def _of_method(common: dict[str, Any], method: str, grid: Grid) -> list[TranslateSettings]:
    if method not in SPECULATIVE:
        if method not in METHODS:
            raise UsageError(f"--methods: there is no method {method!r}; choose from {', '.join(METHODS)}")
        return [_variant(common, method=method)]
    proposes = method in PROPOSING
    axes = {
        "drop_revised": grid.drops,
        "bias": grid.biases,
        "final_bias": grid.final_biases,
        "commit": grid.commits,
        "commit_gap": grid.commit_gaps,
        "draft_mask": grid.draft_masks,
        "accept": grid.accepts,
        "min_block": grid.min_blocks,
        "proposal_bias": grid.proposal_biases if proposes else (USUAL.proposal_bias,),
        "block": grid.blocks if proposes else (USUAL.block,),
        "sure": grid.sures if method in SURE else (USUAL.sure,),
        "heads": (grid.heads if method == HEADS else None,),
        "draft_model": grid.draft_models if method in DRAFTED else (None,),
        "draft_length": grid.draft_lengths,
        "draft_threshold": grid.draft_thresholds,
        "draft_tree": grid.draft_trees,
    }
    return [
        _variant(common, method=method, **_own(dict(zip(axes, values, strict=True))))
        for values in product(*axes.values())
    ]


def _own(values: dict[str, Any]) -> dict[str, Any]:
    """One crossing, without what has no effect in it: what comes to the same is to be one run."""
    own = dict(values)
    if own["accept"] != "bias":  # another rule takes the place of both, and of the sweep over them
        own |= {"bias": 0.0, "final_bias": 0.0}
    own["final_bias"] = own["bias"] if own["final_bias"] == "same" else own["final_bias"]
    own["proposal_bias"] = own["bias"] if own["proposal_bias"] is None else own["proposal_bias"]
    if own["commit"] == 0:
        own["commit_gap"] = 0.0
    if own["draft_model"] is None:
        own |= {name: getattr(USUAL, name) for name in ("draft_length", "draft_threshold", "draft_tree")}
    return own


def _variant(common: dict[str, Any], **own: Any) -> TranslateSettings:
    if own["method"] not in SPECULATIVE:
        own["commit"] = 0  # the default is that of methods with a draft
    return load_settings(None, {"translate": {**common, **own}}).translate
