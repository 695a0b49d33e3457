"""The model of a run for each direction, the named models, and the time of an update with each.

If a model was not measured on this machine, its time is estimated from a measured one by the number of
weights that a pass reads. Loads no model.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from connectors.models.catalog import BESIDES_MB, FLOWS_MS, NamedModel, catalog, languages_of
from connectors.models.firefox import FIREFOX, is_firefox_here
from connectors.models.resolve import default_model, fetch_default, firefox_model, halves, language_model
from flows.settings.translate import AUTO, TranslateSettings, names_of
from operators.decoding.pass_cost import PassCosts
from operators.languages import ENGLISH, LANGUAGES, Direction, Language
from operators.notifications import Progress


def fetch_chosen(settings: TranslateSettings, directions: Sequence[Direction], progress: Progress) -> None:
    """Download the models that ``default`` stands for; if that fails, report the fallback."""
    if settings.model == "default" and not settings.needs_language_model:
        for one in filter(lambda one: one.translates, directions):
            fetch_default(one, progress, registry=settings.registry)


def with_expected(settings: TranslateSettings) -> TranslateSettings:
    """For the source ``auto``, add the languages that this run can translate.

    These are English, the languages of the captions, and those whose models are on this machine. Speech in
    any other language is shown without translation.
    """
    if not settings.finds_language or set(names_of(settings.source)) != {AUTO}:
        return settings
    written = settings.written

    def is_expected(spoken: Language) -> bool:
        directions = [one for to in written if (one := Direction(spoken, to)).translates]
        if settings.model not in ("default", FIREFOX) or settings.needs_language_model:
            return spoken == ENGLISH or spoken in written
        return all(is_firefox_here(half) for one in directions for half in halves(one))

    expected = [ENGLISH, *(one for one in LANGUAGES if one != ENGLISH and is_expected(one))]
    return replace(settings, source=(AUTO, *(one.name for one in expected)))


def chosen_model(settings: TranslateSettings, direction: Direction) -> str:
    """The model for a direction; resolves ``default``."""
    if settings.model == FIREFOX:
        return firefox_model(direction)
    if settings.model != "default" or settings.needs_language_model:
        return language_model(settings.model, direction)
    return default_model(direction)


#: Billions of weights per byte of a file in four bits.
WEIGHTS_PER_BYTE = 1.35e-9
# Tokens that an update verifies in one pass, and tokens that it then decodes one by one. On two cores, an
# update takes 42 ms with the captions models (first pair), 1.2 s with Qwen2.5-Coder 1.5B, 0.12 s with base.
_CAPTIONS, _OTHERS = (16, 4), (24, 12)
# Ratio between the two, where only the time of an update is known.
_MORE = 2.0


class Reference(NamedTuple):
    """Measured speed of one model on this machine."""

    update_ms: float
    #: Billions of weights.
    weights: float
    is_for_captions: bool
    is_steady: bool = True


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    what: str
    languages: list[str]
    #: Its file, as ``--model`` takes it; None if it comes with surtitle, its name for one model per pair.
    file: str | None
    #: Size of its file, and memory of a run with it.
    megabytes: int
    memory_mb: int
    licence: str
    commercial: bool
    terms: str
    asks: str
    #: Milliseconds of an update; None if nothing was measured here.
    update_ms: float | None
    is_measured: bool
    is_here: bool

    @property
    def is_for_every_use(self) -> bool:
        return self.commercial and not self.terms


def update_ms(costs: PassCosts, *, is_for_captions: bool) -> float:
    verified, decoded = _CAPTIONS if is_for_captions else _OTHERS
    return costs.of(verified) + decoded * costs.of(1)


def candidates(
    direction: Direction | None, reference: Reference | None, measured: Mapping[str, float]
) -> list[Candidate]:
    """The named models for a direction (None: all of them), the best translations first.

    Args:
        reference: The model from which the time of others is estimated.
        measured: Milliseconds of an update on this machine, by model name.
    """
    named = [one for one in catalog().values() if direction is None or one.translates(direction)]
    return [
        Candidate(
            name=one.name,
            what=one.what,
            languages=languages_of(one),
            file=one.name if one.is_per_pair else one.hub_name,
            megabytes=one.megabytes,
            memory_mb=one.megabytes + BESIDES_MB,
            licence=one.licence,
            commercial=one.commercial,
            terms=one.terms,
            asks=one.asks,
            update_ms=measured.get(one.name) or (reference and _estimated(reference, one)),
            is_measured=one.name in measured,
            is_here=one.is_here(direction),
        )
        for one in named
    ]


def best(found: Sequence[Candidate], free_mb: float | None) -> Candidate | None:
    """The best model that is licensed for every use, fits into memory and keeps up; None if there is none."""
    for one in found:
        flows = one.update_ms is not None and one.update_ms <= FLOWS_MS
        if flows and one.is_for_every_use and (free_mb is None or one.memory_mb <= free_mb):
            return one
    return None


def advice(found: Sequence[Candidate], free_mb: float | None) -> str:
    """The recommended named model, as a phrase."""
    chosen = best(found, free_mb)
    if chosen is not None:
        return f"the best named model that keeps up here is {chosen.name}"
    usable = [one for one in found if one.is_for_every_use]
    fastest = min(usable, key=lambda one: one.update_ms or 0.0, default=None)
    if fastest is None:
        return "no named model is licensed for every use"
    return (
        f"no named model keeps up here; {fastest.name} comes closest, with about "
        f"{fastest.update_ms or 0:,.0f} ms an update"
    )


def _estimated(reference: Reference, model: NamedModel) -> float:
    ratio = _MORE ** (reference.is_for_captions - model.is_for_captions)
    return reference.update_ms * ratio * model.weights / reference.weights
