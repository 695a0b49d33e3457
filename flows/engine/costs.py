"""The cost of a model's passes on this machine: measured at its first start, then cached."""

from pathlib import Path
from typing import TYPE_CHECKING

from connectors.machine.measured import measured_costs, recalled_costs
from connectors.machine.resources import good_threads
from connectors.models.catalog import catalog
from connectors.models.firefox import FIREFOX, firefox_folder, is_firefox_here
from connectors.models.resolve import resolve_model
from flows.engine.choice import Reference, update_ms
from flows.engine.marian import open_marian
from flows.settings.translate import TranslateSettings
from operators.decoding.pass_cost import PassCosts
from operators.extras import EXTRAS, missing
from operators.languages import Direction
from operators.models.pass_times import measure_model
from operators.notifications import Progress, silent

if TYPE_CHECKING:
    from operators.models.llama_model import LlamaModel


def pass_costs_of(path: Path, model: "LlamaModel", threads: int, progress: Progress) -> PassCosts:
    """Measured once for each number of threads, then cached."""

    def measure() -> PassCosts:
        progress("measuring the cost of a pass", None)
        return measure_model(model, threads)

    return recalled_costs(path, threads, measure)


def measured_here(
    direction: Direction | None, progress: Progress = silent
) -> tuple[Reference | None, dict[str, float]]:
    """The time of an update on this machine.

    Returns the time with the bundled language model for the direction, measured now if necessary; and the
    milliseconds of each named model that was measured before, by name. Without the extra ``llm``, returns
    None and the milliseconds of Firefox's model.
    """
    measured = dict[str, float]()
    pair = direction or Direction.of("en", "pt")
    if is_firefox_here(pair):
        settings = TranslateSettings(source=pair.source.name, to=pair.target.name)
        costs = open_marian(firefox_folder(pair), settings, [pair], progress).costs()
        measured[FIREFOX] = update_ms(costs, is_for_captions=False)
    if missing(EXTRAS["llm"]):
        return None, measured
    return _bundled(direction, progress, measured), measured


def _bundled(direction: Direction | None, progress: Progress, measured: dict[str, float]) -> Reference:
    """The bundled language model's time; adds the times of all language models to ``measured``."""
    from operators.models.llama_model import LlamaModel

    own = catalog()["captions" if direction and catalog()["captions"].translates(direction) else "base"]
    path, threads = resolve_model(own.name, direction, progress=progress), good_threads()
    costs = measured_costs(path, threads)
    if costs is None:
        model = LlamaModel(path)
        costs = pass_costs_of(path, model, threads, progress)
        model.close()
    took_ms, is_steady = update_ms(costs, is_for_captions=own.is_for_captions), costs.is_steady
    measured[own.name] = took_ms
    for one in catalog().values():
        if one.hub_name is not None and one.is_here(direction):
            costs = measured_costs(resolve_model(one.name), threads)
            if costs is not None:
                measured[one.name] = update_ms(costs, is_for_captions=one.is_for_captions)
    return Reference(took_ms, own.weights, own.is_for_captions, is_steady)
