"""What a model costs on this machine: measured at its first start, then recalled."""

from pathlib import Path

from connectors.machine.resources import others_s, usable_cores
from connectors.machine.tuning import recalled, remembered, tuning_key
from connectors.models.catalog import catalog
from connectors.models.firefox import FIREFOX, firefox_folder, is_firefox_here
from connectors.models.resolve import resolve_model
from flows.engine.candidates import Reference, update_ms
from flows.engine.marian import open_marian
from flows.engine.serving import largest_fill
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

    def measure() -> Tuning:
        progress("measuring which number of threads is fastest", None)
        with LlamaProbe(model) as probe:
            return tune(probe.seconds, usable_cores(), others_s)

    return recalled(tuning_key(path), Tuning, measure)


def row_step_of(path: Path, model: LlamaModel, tuning: Tuning, progress: Progress) -> int:
    """The step in rows of logits that is fastest with the tuning's threads."""

    def measure() -> RowStep:
        progress("measuring the fastest way to compute logits", None)
        with LlamaProbe(model) as probe:
            return measure_row_step(lambda rows: probe.pass_s(tuning.threads, tuning.ubatch, ROWS[-1], rows))

    return recalled(f"{tuning_key(path)}-{tuning.threads}-rows", RowStep, measure).rows


def keep_costs_of(path: Path, model: LlamaModel, context: ContextSettings, progress: Progress) -> KeepCosts:
    """The cost of keeping tokens behind a longer source with the context's threads."""

    def measure() -> KeepCosts:
        progress("measuring what keeping tokens saves", None)
        with LlamaProbe(model, cells=TURNED_CELLS) as probe:
            return measure_keep(
                lambda tokens: probe.pass_s(context.threads, context.ubatch, tokens, 0),
                lambda: probe.turned_s(context.threads, context.ubatch),
            )

    return recalled(f"{tuning_key(path)}-{context.threads}-{context.ubatch}-keep", KeepCosts, measure)


def pass_costs_of(path: Path, model: LlamaModel, context: ContextSettings, progress: Progress) -> PassCosts:
    """The cost of a pass with the context's threads."""

    def measure() -> PassCosts:
        progress("measuring what a pass costs", None)
        with LlamaProbe(model) as probe:
            return measure_costs(lambda tokens: probe.pass_s(context.threads, context.ubatch, tokens))

    return recalled(f"{tuning_key(path)}-{context.threads}-{context.ubatch}", PassCosts, measure)


def fill_costs_of(path: Path, model: LlamaModel, context: ContextSettings, progress: Progress) -> PassCosts:
    """The cost of a pass that many segments share."""

    def measure() -> PassCosts:
        progress("measuring what a pass of many rooms costs", None)
        with LlamaProbe(model, cells=2 * BATCH) as probe:
            return measure_fill(
                lambda tokens: probe.pass_s(context.threads, context.ubatch, tokens), largest_fill(model)
            )

    return recalled(f"{tuning_key(path)}-{context.threads}-{context.ubatch}-many", PassCosts, measure)


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
        settings = TranslateSettings(source=pair.source.name, target=pair.target.name)
        costs = open_marian(firefox_folder(pair), settings, [pair], progress).costs()
        measured[FIREFOX] = update_ms(costs, is_for_captions=False)
    return Reference(took_ms, own.weights, own.is_for_captions, is_steady), measured
