"""The figures of the SSBD paper's tables: Zeng et al., arXiv 2509.21740, version 2.

The authors measured on an Apple M2 Pro with llama.cpp (Metal), Q4_K_M, greedy, β = 0.2 unless stated
otherwise, as means of three runs. COMET is wmt22-comet-da; NE counts tokens of sacreBLEU's flores101, as the
mean over segments; A/D and A/O are in percent; TPS are output tokens per second without the prompt, and the
speedup is their ratio.
"""

from typing import NamedTuple


class PublishedFigures(NamedTuple):
    """One line of a table for one model; None where the paper prints nothing."""

    comet: float
    ne: float
    accepted_over_drafted: float | None
    accepted_over_output: float | None
    tps: int | None
    speedup: float


#: The models, in the order of the columns of tables 2 and 6.
MODELS = ("Tower+ 2B", "Qwen3 4B")

#: Figures of each model, by language and method: re-translation (RT) and SSBD.
ByLanguage = dict[tuple[str, str], tuple[PublishedFigures, PublishedFigures]]

#: Table 2: Flores, revealed three words at a time.
TABLE_2: ByLanguage = {
    ("de", "RT"): (
        PublishedFigures(0.877, 1.17, None, None, 60, 1.00),
        PublishedFigures(0.843, 1.26, None, None, 48, 1.00),
    ),
    ("de", "SSBD"): (
        PublishedFigures(0.877, 0.77, 79.0, 63.1, 101, 1.69),
        PublishedFigures(0.843, 0.82, 74.7, 58.9, 74, 1.53),
    ),
    ("zh", "RT"): (
        PublishedFigures(0.882, 1.72, None, None, 59, 1.00),
        PublishedFigures(0.882, 1.54, None, None, 46, 1.00),
    ),
    ("zh", "SSBD"): (
        PublishedFigures(0.880, 1.01, 71.7, 57.0, 87, 1.48),
        PublishedFigures(0.882, 1.20, 65.4, 51.8, 65, 1.43),
    ),
    ("ja", "RT"): (
        PublishedFigures(0.912, 2.06, None, None, 60, 1.00),
        PublishedFigures(0.889, 1.96, None, None, 48, 1.00),
    ),
    ("ja", "SSBD"): (
        PublishedFigures(0.911, 1.49, 60.4, 48.5, 82, 1.36),
        PublishedFigures(0.888, 1.49, 57.7, 45.9, 64, 1.33),
    ),
}

#: Table 6: ACL 60/60, a recogniser's intermediate transcripts.
TABLE_6: ByLanguage = {
    ("de", "RT"): (
        PublishedFigures(0.796, 2.53, None, None, 60, 1.00),
        PublishedFigures(0.766, 2.22, None, None, 48, 1.00),
    ),
    ("de", "SSBD"): (
        PublishedFigures(0.796, 1.82, 76.3, 55.3, 90, 1.50),
        PublishedFigures(0.766, 1.79, 73.1, 52.1, 70, 1.46),
    ),
    ("zh", "RT"): (
        PublishedFigures(0.824, 2.34, None, None, 59, 1.00),
        PublishedFigures(0.833, 2.15, None, None, 46, 1.00),
    ),
    ("zh", "SSBD"): (
        PublishedFigures(0.824, 1.71, 74.5, 53.8, 84, 1.42),
        PublishedFigures(0.833, 1.84, 67.5, 48.5, 59, 1.28),
    ),
    ("ja", "RT"): (
        PublishedFigures(0.854, 3.05, None, None, 59, 1.00),
        PublishedFigures(0.841, 2.91, None, None, 44, 1.00),
    ),
    ("ja", "SSBD"): (
        PublishedFigures(0.854, 2.39, 60.9, 42.5, 78, 1.31),
        PublishedFigures(0.841, 2.46, 56.3, 40.8, 61, 1.39),
    ),
}

#: Table 3: the bias, with Tower+ 2B on Flores en→zh. From 0.5 on it is continuous decoding (CD).
_NEVER_REVISED = PublishedFigures(0.742, 0.0, 100.0, 77.5, None, 2.10)
TABLE_3 = {
    "RT": PublishedFigures(0.882, 1.72, None, None, None, 1.00),
    "0": PublishedFigures(0.882, 1.53, 53.8, 42.7, None, 1.28),
    "0.1": PublishedFigures(0.881, 1.19, 66.2, 52.6, None, 1.40),
    "0.2": PublishedFigures(0.880, 1.01, 71.7, 57.0, None, 1.48),
    "0.3": PublishedFigures(0.870, 0.83, 77.3, 61.4, None, 1.58),
    "0.4": PublishedFigures(0.842, 0.57, 85.0, 67.4, None, 1.70),
    "0.5": _NEVER_REVISED,
    "1": _NEVER_REVISED,
    "CD": _NEVER_REVISED,
}

#: Table 4: the last k tokens masked in the draft, or only in the display; model and text as in table 3.
TABLE_4 = {
    "no mask": PublishedFigures(0.880, 1.01, 71.7, 57.0, None, 1.48),
    "mask-3 in the draft": PublishedFigures(0.880, 0.52, 80.6, 52.3, None, 1.42),
    "mask-5 in the draft": PublishedFigures(0.881, 0.34, 84.5, 47.2, None, 1.39),
    "display-only mask-3": PublishedFigures(0.880, 0.53, 71.7, 57.0, None, 1.48),
    "display-only mask-5": PublishedFigures(0.880, 0.35, 71.7, 57.0, None, 1.48),
}
