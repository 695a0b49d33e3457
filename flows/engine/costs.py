"""What a model costs on this machine: measured at its first start, then recalled."""

from collections.abc import Callable
from pathlib import Path

from connectors.machine.resources import others_s, usable_cores
from connectors.machine.tuning import Measured, recalled, remembered, tuning_key
from connectors.models.catalog import catalog
from connectors.models.firefox import FIREFOX, firefox_folder, is_firefox_here
from connectors.models.resolve import resolve_model
from flows.engine.choice import Reference, update_ms
from flows.engine.marian import open_marian
from flows.engine.sessions import largest_fill
from flows.settings.translate import TranslateSettings
from operators.decoding.pass_cost import PassCosts
from operators.languages import Direction
from operators.models.llama import BATCH, ContextSettings
from operators.models.llama_model import LlamaModel
from operators.models.pass_times import (
    ROWS,
    TURNED_CELLS,
    KeepCosts,
    RowStep,
    measure_costs,
    measure_fill,
    measure_keep,
    measure_row_step,
)
from operators.models.tuning import LlamaProbe, Tuning, tune
from operators.notifications import Progress, silent


def tuning_of(path: Path, model: LlamaModel, progress: Progress) -> Tuning:
    """The best tuning for this model on this machine: measured at the first start, then cached."""
    return _recalled(
        tuning_key(path), Tuning, model, lambda probe: tune(probe.seconds, usable_cores(), others_s),
        progress, "which number of threads is fastest",
    )  # fmt: skip


def row_step_of(path: Path, model: LlamaModel, tuning: Tuning, progress: Progress) -> int:
    """The step in rows of logits that is fastest with the tuning's threads."""
    threads, ubatch = tuning.threads, tuning.ubatch
    return _recalled(
        f"{tuning_key(path)}-{threads}-rows", RowStep, model,
        lambda probe: measure_row_step(lambda rows: probe.pass_s(threads, ubatch, ROWS[-1], rows)),
        progress, "the fastest way to compute logits",
    ).rows  # fmt: skip


def keep_costs_of(path: Path, model: LlamaModel, context: ContextSettings, progress: Progress) -> KeepCosts:
    """The cost of keeping tokens behind a longer source with the context's threads."""
    threads, ubatch = context.threads, context.ubatch
    return _recalled(
        f"{_key(path, context)}-keep", KeepCosts, model,
        lambda probe: measure_keep(
            lambda tokens: probe.pass_s(threads, ubatch, tokens, 0), lambda: probe.turned_s(threads, ubatch)
        ),
        progress, "what keeping tokens saves", TURNED_CELLS,
    )  # fmt: skip


def pass_costs_of(path: Path, model: LlamaModel, context: ContextSettings, progress: Progress) -> PassCosts:
    """The cost of a pass with the context's threads."""
    threads, ubatch = context.threads, context.ubatch
    return _recalled(
        _key(path, context), PassCosts, model,
        lambda probe: measure_costs(lambda tokens: probe.pass_s(threads, ubatch, tokens)),
        progress, "what a pass costs",
    )  # fmt: skip


def fill_costs_of(path: Path, model: LlamaModel, context: ContextSettings, progress: Progress) -> PassCosts:
    """The cost of a pass that many segments share."""
    threads, ubatch, largest = context.threads, context.ubatch, largest_fill(model)
    return _recalled(
        f"{_key(path, context)}-many", PassCosts, model,
        lambda probe: measure_fill(lambda tokens: probe.pass_s(threads, ubatch, tokens), largest),
        progress, "what a pass of many rooms costs", 2 * BATCH,
    )  # fmt: skip


def _recalled(
    key: str, kind: type[Measured], model: LlamaModel, measure: Callable[[LlamaProbe], Measured],
    progress: Progress, what: str, cells: int = 256,
) -> Measured:  # fmt: skip
    def probed() -> Measured:
        progress(f"measuring {what}", None)
        with LlamaProbe(model, cells) as probe:
            return measure(probe)

    return recalled(key, kind, probed)


def _key(path: Path, context: ContextSettings) -> str:
    return f"{tuning_key(path)}-{context.threads}-{context.ubatch}"


def measured_costs(path: Path) -> PassCosts | None:
    """The cost of a pass that was measured at an earlier start; None if none was. Loads no model."""
    key = tuning_key(path)
    tuning = remembered(key, Tuning)
    return None if tuning is None else remembered(f"{key}-{tuning.threads}-{tuning.ubatch}", PassCosts)


def measured_here(
    direction: Direction | None, progress: Progress = silent
) -> tuple[Reference, dict[str, float]]:
    """What is known of the time of an update on this machine.

    Returns the time with the model that comes with surtitle for the direction, measured now if it never was;
    and milliseconds with each named model that is here and was measured, by name.
    """
    own = catalog()["captions" if direction and catalog()["captions"].translates(direction) else "base"]
    path = resolve_model(own.name, direction, progress=progress)
    costs = measured_costs(path)
    if costs is None:
        model = LlamaModel(path)
        tuning = tuning_of(path, model, progress)
        context = ContextSettings(cells=0, sequences=1, threads=tuning.threads, ubatch=tuning.ubatch)
        costs = pass_costs_of(path, model, context, progress)
        model.close()
    took_ms, is_steady = update_ms(costs, is_for_captions=own.is_for_captions), costs.is_steady
    measured = {own.name: took_ms}
    for one in catalog().values():
        if one.hub_name is not None and one.is_here(direction):
            costs = measured_costs(resolve_model(one.name))
            if costs is not None:
                measured[one.name] = update_ms(costs, is_for_captions=one.is_for_captions)
    pair = direction or Direction.of("en", "pt")
    if is_firefox_here(pair):
        settings = TranslateSettings(source=pair.source.name, to=pair.target.name)
        costs = open_marian(firefox_folder(pair), settings, [pair], progress).costs()
        measured[FIREFOX] = update_ms(costs, is_for_captions=False)
    return Reference(took_ms, own.weights, own.is_for_captions, is_steady), measured
