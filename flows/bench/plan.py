"""Which methods and settings a benchmark compares: a grid, its rows, and re-translation before all others."""

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple, get_args, get_type_hints

from flows.settings import TranslateSettings, load_settings
from operators.errors import UsageError

METHODS: tuple[str, ...] = get_args(get_type_hints(TranslateSettings)["method"])


class Grid(NamedTuple):
    """The values to cross; bias, commit and draft mask concern SSBD only."""

    methods: Sequence[str]
    biases: Sequence[float]
    #: Tokens that the display withholds. They cost no run of their own.
    masks: Sequence[int]
    commits: Sequence[int] = (0,)
    draft_masks: Sequence[int] = (0,)
    #: Biases of a segment's last update; None for the bias of the row.
    final_biases: Sequence[float | None] = (None,)
    #: Add SSBD that drops its draft whenever the source is revised.
    drop_revised: bool = False
    #: Words at the end of unfinished text that wait, with every method.
    hold_backs: Sequence[int] = (0,)
    #: Whether the closing punctuation of unfinished text is taken away, with every method.
    strips: Sequence[bool] = (False,)


class Plan(NamedTuple):
    """What is run: a translator for each entry of ``variants``, the baseline first."""

    variants: tuple[TranslateSettings, ...]
    masks: tuple[int, ...]


def make_plan(common: dict[str, Any], grids: Sequence[Grid]) -> Plan:
    """Cross the values of each grid; what several of them ask for is run once.

    ``common`` are settings of the translate stage that all methods share; the baseline is re-translation
    of the whole text. Raises `UsageError` for a value that no translator can have.
    """
    variants = [_variant(common, method="retranslate")]
    masks: list[int] = []
    for grid in grids:
        for method, hold_back, strip in product(grid.methods, grid.hold_backs, grid.strips):
            conditioning = {"hold_back": hold_back, "strip_punctuation": strip}
            variants += _of_method({**common, **conditioning}, method, grid)
        masks += grid.masks
    if any(mask < 0 for mask in masks):
        raise UsageError(f"--mask-k: {min(masks)} tokens cannot be withheld; give 0 or more")
    return Plan(tuple(dict.fromkeys(variants)), tuple(dict.fromkeys(masks)))


def columns_of(settings: TranslateSettings) -> dict[str, Any]:
    """The columns of a row that name its settings; those that the method does not use are empty or 0."""
    is_ssbd = settings.method == "ssbd"
    return {
        "method": settings.method,
        "bias": settings.bias if is_ssbd else None,
        "final_bias": settings.final_bias if is_ssbd else None,
        "draft_mask": settings.draft_mask,
        "commit": settings.commit,
        "hold_back": settings.hold_back,
        "strip_punctuation": settings.strip_punctuation,
        "drop_revised": settings.drop_revised,
    }


def _of_method(common: dict[str, Any], method: str, grid: Grid) -> list[TranslateSettings]:
    if method != "ssbd":
        if method not in METHODS:
            raise UsageError(f"--methods: there is no method {method!r}; choose from {', '.join(METHODS)}")
        return [_variant(common, method=method)]
    drops = (False, True) if grid.drop_revised else (False,)
    return [
        _variant(
            common,
            method=method,
            bias=bias,
            final_bias=bias if final is None else final,
            commit=commit,
            draft_mask=draft_mask,
            drop_revised=drop,
        )
        for drop, bias, final, commit, draft_mask in product(
            drops, grid.biases, grid.final_biases, grid.commits, grid.draft_masks
        )
    ]


def _variant(common: dict[str, Any], **own: Any) -> TranslateSettings:
    if own["method"] != "ssbd":
        own["commit"] = 0  # the default is SSBD's
    return load_settings(None, {"translate": {**common, **own}}).translate
