"""The methods and settings that a benchmark compares: the rows of a grid, with re-translation first."""

from collections.abc import Sequence
from itertools import product
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from flows.settings.loading import load_settings
from flows.settings.methods import METHODS as PARTS
from flows.settings.schema import MASK_K, METHOD_NAMES, PROPOSING, SPECULATIVE, TranslateSettings
from operators.decoding.acceptance import BIAS
from operators.errors import UsageError

#: The method that all others are compared with.
BASELINE = "retranslate"
#: The methods whose proposals are as long as their probability allows.
SURE = tuple(one.name for one in PARTS.values() if one.weighs_costs)
#: The product's defaults, which a grid measures unless it says otherwise.
USUAL = TranslateSettings()
Same = Literal["same"]


class Grid(NamedTuple):
    """The values to cross, by the settings' keys; as in these, None stands for none or for the default.

    All values except methods, masks, glossaries, dictionaries and conditioning only apply to methods that
    verify a draft. Masks need no extra runs. ``same`` is the bias of the row.
    """

    method: Sequence[str] = (BASELINE, USUAL.method)
    bias: Sequence[float | None] = (USUAL.bias,)
    mask_k: Sequence[int] = (MASK_K,)
    commit: Sequence[int] = (USUAL.commit,)
    commit_gap: Sequence[float] = (USUAL.commit_gap,)
    keep: Sequence[bool] = (USUAL.keep,)
    draft_mask: Sequence[int] = (USUAL.draft_mask,)
    final_bias: Sequence[float | Same | None] = (USUAL.final_bias,)
    accept: Sequence[str] = (USUAL.accept,)
    min_block: Sequence[int] = (USUAL.min_block,)
    proposal_bias: Sequence[float | Same] = (USUAL.proposal_bias,)
    block: Sequence[int | None] = (USUAL.block,)
    sure: Sequence[float] = (USUAL.sure,)
    heads: Sequence[str | None] = (USUAL.heads,)
    draft_model: Sequence[str | None] = (USUAL.draft_model,)
    draft_length: Sequence[int] = (USUAL.draft_length,)
    draft_threshold: Sequence[float] = (USUAL.draft_threshold,)
    draft_tree: Sequence[bool] = (USUAL.draft_tree,)
    drop_revised: Sequence[bool] = (USUAL.drop_revised,)
    glossary: Sequence[str | None] = (USUAL.glossary,)
    dictionary: Sequence[str] = (USUAL.dictionary,)
    hold_back: Sequence[int] = (USUAL.hold_back,)
    strip_punctuation: Sequence[bool] = (USUAL.strip_punctuation,)


#: The settings that apply to every method: masks, glossaries, dictionaries, and source conditioning.
_CONDITIONING = ("hold_back", "strip_punctuation")
_OF_EACH = ("glossary", "dictionary", *_CONDITIONING)
_OF_ALL = ("method", "mask_k", *_OF_EACH)
#: The order in which the others are crossed, and thus the order of the rows.
_CROSSED = ("drop_revised", *(key for key in Grid._fields if key not in (*_OF_ALL, "drop_revised")))
#: The methods that a setting applies to, if these are not all methods that verify a draft.
_CONCERNED: dict[str, Sequence[str]] = {
    "proposal_bias": PROPOSING,
    "block": PROPOSING,
    "sure": SURE,
    "heads": ("heads",),
    "draft_model": PARTS["draft-model"].joins,
}


#: The settings that are a column of each row, whatever its method.
_COLUMNS = (
    *("method", "min_block", "block", "heads", "draft_mask", "commit", "commit_gap", "keep", "draft_model"),
    *("draft_tree", "drop_revised", *_OF_EACH),
)


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
        return replace(common, glossary=next(glossaries, None), keep=keep)


def make_plan(common: dict[str, Any], grids: Sequence[Grid]) -> Plan:
    """Cross the values of each grid; combinations that occur in several grids are run once.

    ``common`` holds the settings of the translate stage that all methods share; the baseline is
    re-translation of the whole text. Raises `UsageError` for an invalid value.
    """
    variants = [_variant({**common, "dictionary": grids[0].dictionary[0]}, method=BASELINE)]
    masks: list[int] = []
    for grid in grids:
        for method, *values in product(grid.method, *(getattr(grid, key) for key in _OF_EACH)):
            variants += _of_method({**common, **dict(zip(_OF_EACH, values, strict=True))}, method, grid)
        masks += grid.mask_k
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
        **{key: getattr(settings, key) for key in _COLUMNS},
        **{key: value if speculates else None for key, value in rules.items()},
        **{key: value if settings.draft_model else None for key, value in drafted.items()},
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
        getattr(grid, key) if method in _CONCERNED.get(key, SPECULATIVE) else (getattr(USUAL, key),)
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
