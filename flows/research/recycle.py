"""Draft recycling with the last output (SpecASR, Wei et al. 2025). Speech recognisers use it too."""

from flows.settings.methods import Proposing, method
from operators.decoding.drafts import Drafter
from operators.decoding.recycling import recycling


@method("recycle", weighs_costs=True)
def recycle(asked: Proposing) -> list[Drafter]:
    """The rejected rest of the last output, and n-grams."""
    return [recycling(asked.task, asked.length, asked.acceptance)]
