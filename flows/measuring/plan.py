"""The plan of a benchmark: the values of its settings, crossed, each combination once."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import fields, replace

from flows.research import check
from flows.settings.loading import load_settings
from flows.settings.options import words
from flows.settings.schema import MASK_K
from flows.settings.terminology import check_files, of_direction
from flows.settings.translate import (
    DRAFTED,
    JACOBI,
    METHOD_NAMES,
    PROPOSING,
    SPECULATIVE,
    WEIGHING,
    NotNegative,
    TranslateSettings,
)
from operators.decoding.acceptance import BIAS
from operators.errors import UsageError
from operators.languages import Direction
from operators.masking import MaskRule
from operators.recognizers.part import RecognizerSettings

#: The method that all others are compared with.
BASELINE = "retranslate"
#: The product's defaults.
USUAL = TranslateSettings()
#: The settings in which the translators of one model may differ, and the methods that each applies to.
SETTINGS: dict[str, Sequence[str]] = {
    "method": METHOD_NAMES,
    **dict.fromkeys(("accept", "bias", "final_bias", "min_block", "draft_mask"), SPECULATIVE),
    **dict.fromkeys(("commit", "draft_source"), SPECULATIVE),
    "beam": ("ssbd",),
    "proposal_accept": PROPOSING,
    # Parallel Jacobi has one block, as long as its horizon.
    "block": tuple(name for name in PROPOSING if name != "jacobi"),
    "horizon": ("jacobi", "hybrid-jacobi"),
    "guess": JACOBI,
    "sure": WEIGHING,
    "heads": ("heads",),
    **dict.fromkeys(("draft_model", "draft_length", "draft_threshold", "draft_tree"), DRAFTED),
    **dict.fromkeys(("hold_back", "strip_punctuation", "close_unfinished"), METHOD_NAMES),
    **dict.fromkeys(("glossary", "guards"), METHOD_NAMES),
}
#: Values by the keys of settings.
Grid = Mapping[str, Sequence[Any]]

_TRANSLATE = {one.name: one.type for one in fields(TranslateSettings)}
_RECOGNIZE = {one.name: one.type for one in fields(RecognizerSettings)}
#: The settings that each task can vary, with their types. Masks of the display need no run of their own.
VARIED: dict[str, dict[str, Any]] = {
    "text": {key: _TRANSLATE[key] for key in SETTINGS} | {"mask_k": NotNegative, "mask": MaskRule},
    "drafts": {key: _TRANSLATE[key] for key in ("draft_length", "draft_threshold")},
    "speech": {key: _RECOGNIZE[key] for key in ("bias", "certainty")},
}


class BenchJob(NamedTuple):
    sources: Sequence[Path]
    reference: Path | None
    skip: int
    limit: int | None
    json: Path | None
    markdown: Path | None
    # From here on, only for texts.
    #: The name of a corpus, which has references.
    data: str | None = None
    #: Words by which each update grows; None for whole segments.
    lag: int | None = 3
    repeat: int = 3
    comet: str | None = None
    #: The tokens that erasure is counted in; by default those of the language.
    tokenizer: str | None = None
    likelihood: bool = False
    fresh: bool = False
    #: A file for all translations.
    outputs: Path | None = None
    #: A folder that keeps the trials; by default they are deleted at the end.
    trials: Path | None = None

    @property
    def chosen(self) -> slice:
        return slice(self.skip, None if self.limit is None else self.skip + self.limit)

    @property
    def written(self) -> list[tuple[str, Path | None]]:
        return [("--json", self.json), ("--markdown", self.markdown), ("--outputs", self.outputs)]


def read_grid(given: Sequence[str], types: Mapping[str, Any]) -> dict[str, Sequence[Any]]:
    """Parse texts such as ``bias=0,0.2`` by the ``types`` of the keys; raises `UsageError`."""
    grid: dict[str, Sequence[Any]] = {}
    for text in given:
        name, _, values = text.partition("=")
        key = name.strip().rpartition(".")[2]
        if key not in types:
            raise UsageError(f"--vary: there is no {key!r} to vary; choose from {', '.join(types)}")
        read = [_value(key, word, types[key]) for word in words(f"--vary {key}", values)]
        grid[key] = (*grid.get(key, ()), *read)
    return grid


def _value(key: str, word: str, kind: Any) -> Any:
    """``none`` and ``auto`` mean no value where the setting is optional."""
    if word == "same" and key == "final_bias":
        return word
    for one in (None, word) if word in ("none", "auto") else (word,):
        try:
            return msgspec.convert(one, kind, strict=False)
        except msgspec.ValidationError as error:
            failure = error
    raise UsageError(f"--vary {key}: {word!r} is not one of its values, {failure}; correct it")


class DisplayMask(NamedTuple):
    mask_k: int = MASK_K
    mask: MaskRule = "steady"


class Plan(NamedTuple):
    """The translators to run: one for each entry of ``variants``, the baseline first."""

    #: The settings of the translate stage that all variants share.
    common: dict[str, Any]
    variants: tuple[TranslateSettings, ...]
    masks: tuple[DisplayMask, ...]

    @property
    def engine(self) -> TranslateSettings:
        """The settings of the shared engine, with a draft model, heads or glossary if a variant needs it."""
        more = [one for one in self.variants if one.draft_model is not None or one.heads is not None]
        common = max(more, key=lambda variant: variant.draft_tree, default=self.variants[0])
        glossaries = (one.glossary for one in self.variants if one.glossary is not None)
        commit = max(one.commit for one in self.variants)
        beam = max(one.width(knows_unfinished=True) for one in self.variants)
        return replace(common, glossary=next(glossaries, None), commit=commit, beam=beam)


class BenchRun(NamedTuple):
    """One text, one model and one pair of languages of a benchmark."""

    plan: Plan
    #: None for a corpus by name.
    source: Path | None
    reference: Path | None = None


def bench_runs(
    sources: Sequence[Path | None],
    common: dict[str, Any],
    references: Sequence[str],
    grids: Callable[[Path | None, str, Direction], Sequence[Grid]],
) -> list[BenchRun]:
    """A run for each source, model and target language.

    Args:
        common: The settings of the translate stage; ``model`` may name several, ``to`` several languages.
        references: Files, each for the language that it names; one without a name is for the only language.
        grids: Returns the grids for `make_plan`, by source, model and direction.

    Raises:
        UsageError: for an invalid value.
    """
    settings = load_settings(None, {"translate": common}, takes_several=True).translate
    targets = [one.target for one in settings.directions]
    given = tuple(references) or None
    check_files(given, targets, is_of_first=False)
    models = words("--model", str(common["model"])) if "model" in common else [settings.model]
    runs = []
    for source in sources:
        for model, direction in product(models, settings.directions):
            own = {**common, "model": model, "to": direction.target.name}
            file = of_direction(given, direction, direction)
            plan = make_plan(own, grids(source, model, direction))
            runs.append(BenchRun(plan, source, None if file is None else Path(file)))
    return runs


def make_plan(common: dict[str, Any], grids: Sequence[Grid]) -> Plan:
    """Cross the values of each grid; combinations that have the same effect are run once.

    The baseline is re-translation with the first value of each setting that applies to it. Other settings
    have the product's defaults. If no method is given, the default method is compared with the baseline.

    Args:
        common: The settings of the translate stage that all variants share.
        grids: Values by the settings' names; ``same`` as ``final_bias`` is the bias of the row.

    Raises:
        UsageError: for an invalid value.
    """
    first = {key: values[0] for key, values in grids[0].items() if key in SETTINGS}
    variants = [variant_of(common, first | {"method": BASELINE})]
    masks: list[DisplayMask] = []
    for grid in grids:
        axes = {"method": (BASELINE, USUAL.method), **grid}
        withheld = axes.pop("mask_k", (MASK_K,)), axes.pop("mask", ("steady",))
        masks += [DisplayMask(*one) for one in product(*withheld)]
        crossed = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
        variants += [variant_of(common, one) for one in crossed]
    for one in variants:
        check(one)
    if {True, False} <= {one.heads is None for one in variants if one.draft_model or one.heads}:
        raise UsageError(
            "compare a draft model and proposal heads in two separate runs; leave one of them out"
        )
    return Plan(common, tuple(dict.fromkeys(variants)), tuple(dict.fromkeys(masks)))


def variant_of(common: dict[str, Any], varied: dict[str, Any]) -> TranslateSettings:
    """One combination without the values that have no effect in it."""
    own = {key: value for key, value in varied.items() if varied["method"] in SETTINGS[key]}
    if own.get("accept", "auto") not in ("bias", "auto"):
        # Another rule replaces both biases, and the sweep over them.
        own |= {"bias": None, "final_bias": None}
    if own.get("final_bias") == "same":
        own["final_bias"] = BIAS if own.get("bias") is None else own["bias"]
    if own["method"] not in SPECULATIVE or own.get("commit") == 0:
        own |= {"commit": 0}
    if own.get("draft_model") is None:
        for key in ("draft_length", "draft_threshold", "draft_tree"):
            own.pop(key, None)
    return load_settings(None, {"translate": {**common, **own}}).translate


def row_settings(variant: TranslateSettings, *, knows_unfinished: bool = False) -> dict[str, Any]:
    """The settings of a row; None where one has no effect.

    ``knows_unfinished`` says whether the model was trained on unfinished text.
    """
    own = {key: getattr(variant, key) if variant.method in on else None for key, on in SETTINGS.items()}
    rules = variant.rules(knows_unfinished=knows_unfinished).used
    own |= {key: value if variant.method in SPECULATIVE else None for key, value in rules.items()}
    if variant.method in SETTINGS["beam"]:
        own["beam"] = variant.width(knows_unfinished=knows_unfinished)
    if variant.direction.translates:
        own["draft_source"] = None
    if variant.draft_model is None:
        own |= dict.fromkeys(("draft_length", "draft_threshold", "draft_tree"))
    return own
