"""Rows of a benchmark made by hand: all that the paper's tables need."""

from itertools import product
from typing import Any

from flows.measuring.methods.paper import GRIDS, PaperRun
from flows.measuring.methods.plan import columns_of, make_plan
from flows.measuring.methods.scores import MethodRow, Times
from operators.metrics.summary import Percentiles


def row(settings: dict[str, Any], mask_k: int, **figures: Any) -> MethodRow:
    bias = settings["bias"] or 0.0
    given = {
        **{"speedup": 1 + bias, "speedup_range": (1 + bias, 1.1 + bias), "tps_ratio": 1.5, "chrf": 30.0},
        **{"tokens_per_second": 50.0, "bleu": 9.0, "comet": None, "chrf_p": 0.04, "chrf_of_baseline": 80.0},
        **{"ne_raw": 2.0 - bias, "ne_shown": 1.0, "ne_raw_mean": 2.0 - bias, "ne_shown_mean": 0.5},
        **{"accepted_over_drafted": 0.9, "accepted_over_output": bias, "passes": 3, "passes_per_token": 0.3},
        **{"ms_per_update": Percentiles(10.0, 20.0), "updates": 4, "final_accepted_over_drafted": 0.5},
        **{"ms_of_final": Times(9.0, 8.0, 1.0), "ms_of_partial": Times(5.0, 4.0, 1.0), "delay_s": None},
        **{
            "chrf_of_baseline_partials": 70.0,
            "chrf_of_final_prefix": 60.0,
            "unsupported": 0.25,
            "cut": 0.02,
            "proposed_over_output": 0.2,
            "taken_over_output": 0.1,
            "passes_saved": 3.5,
            "speedup_simulated": 3.0,
        },
    }
    return MethodRow(**settings, mask_k=mask_k, **{**given, **figures})


def rows(**figures: Any) -> list[MethodRow]:
    plan = make_plan({}, GRIDS)
    return [row(columns_of(one), mask, **figures) for one, mask in product(plan.variants, plan.masks)]


def made(*, target: str = "German", corpus: str = "a.txt|updates:3-words", **figures: Any) -> PaperRun:
    """A run of the paper's tables."""
    signature = {"model": {"file": "model.gguf"}, "corpus": corpus, "tokenizer": "13a"}
    return PaperRun(rows(**figures), signature, "English", target, "a.txt")
