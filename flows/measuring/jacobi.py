"""Tables 1 and 6 of the paper on parallel decoding (Santilli et al. 2023), with our figures next to theirs.

Greedy decoding, PJ, PGJ and HGJ on whole sentences: time, iterations, BLEU. A run has one pair of languages
and one number of threads; several stand side by side, as the cores of figure 3. The paper's figures are in
``jacobi.toml``.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from flows.measuring.results import Row
from flows.pages.table import Table, number
from operators.languages import language

#: The m of PJ. The authors' is the length of the greedy output, which nobody knows before: most are shorter.
PARALLEL_LENGTH = 64
_PROTOCOL: dict[str, Sequence[Any]] = {"accept": ("exact",), "commit": (0,), "guess": ("pad",)}
#: The grids for the tables; each segment has to be one update (``--lag 1000``).
GRIDS: tuple[dict[str, Sequence[Any]], ...] = (
    {"method": ("retranslate", "jacobi"), **_PROTOCOL, "horizon": (PARALLEL_LENGTH,), "mask_k": (0,)},
    {"method": ("gs-jacobi",), **_PROTOCOL, "block": (5, 3), "mask_k": ()},
    {"method": ("hybrid-jacobi",), **_PROTOCOL, "block": (3,), "mask_k": ()},
)

#: The paper's algorithms, each with our method and its b.
_ALGORITHMS: dict[str, tuple[str, int | None]] = {
    "Greedy": ("retranslate", None),
    "PJ": ("jacobi", None),
    "PGJ, b = 5": ("gs-jacobi", 5),
    "PGJ, b = 3": ("gs-jacobi", 3),
    "HGJ, b = 3": ("hybrid-jacobi", 3),
}
_NOTES = (
    "×: greedy decoding's time divided by the method's. to greedy: chrF of the outputs against greedy "
    "decoding's, 100 where all are equal.",
    "Iterations: greedy decoding's passes divided by the method's. The paper's last iteration of a block "
    "confirms the one before; here no pass does only that.",
    f"PJ here has m = {PARALLEL_LENGTH} unless the run says otherwise, in the paper the length of the greedy "
    "output.",
    "The paper's figures: Santilli et al. 2023, tables 1 and 6 (WMT14 and WMT16; Opus on a CPU, MBart50 on a "
    "GPU), where BLEU is greedy decoding's in every row. Its figure 3: PGJ × 1.11 on 8 cores, 1.98 on 122.",
)


class JacobiRun(NamedTuple):
    rows: Sequence[Row]
    signature: Mapping[str, Any]
    #: The languages.
    source: str
    target: str

    @property
    def name(self) -> str:
        threads = self.signature["threads"]
        pair = f"{language(self.source).code}→{language(self.target).code}"
        return f"{pair}, {threads} {'thread' if threads == 1 else 'threads'}"

    def metrics(self, algorithm: str) -> Mapping[str, Any] | None:
        """The figures of an algorithm that starts from padding; None if it was not measured."""
        method, block = _ALGORITHMS[algorithm]
        for row in self.rows:
            own = row["settings"]
            if (own["method"], own["block"]) == (method, block) and own["guess"] in (None, "pad"):
                return row["metrics"]
        return None


@cache
def published() -> dict[str, Any]:
    """The paper's tables: ``speed`` and ``iterations`` by algorithm."""
    return tomllib.loads(Path(__file__).with_name("jacobi.toml").read_text(encoding="utf-8"))


def paper_tables(runs: Sequence[JacobiRun]) -> tuple[Table, ...]:
    """Tables 1 and 6, and notes about both; what was not measured is dashed."""
    paper = published()
    models, pairs = paper["models"], paper["pairs"]
    speed = Table(
        "Table 1: time and quality of parallel decoding, here and in the paper",
        ("", *("×", "BLEU", "to greedy") * len(runs), *(pairs * len(models))),
        tuple(
            (name, *(cell for run in runs for cell in _cells(run.metrics(name))), *_printed(name))
            for name in _ALGORITHMS
        ),
        groups=(*((run.name, 3) for run in runs), *((model, len(pairs)) for model in models)),
    )
    iterations = Table(
        "Table 6: iterations",
        ("", *(run.name for run in runs), "the paper"),
        tuple(
            (
                name,
                *(number((run.metrics(name) or {}).get("passes_saved"), 2) for run in runs),
                paper["iterations"].get(name, "–"),
            )
            for name in _ALGORITHMS
        ),
        notes=_NOTES,
    )
    return speed, iterations


def _cells(metrics: Mapping[str, Any] | None) -> Iterator[str]:
    for key, digits in (("speedup", 2), ("bleu", 1), ("chrf_of_baseline", 1)):
        yield number(None if metrics is None else metrics[key], digits)


def _printed(algorithm: str) -> Iterator[str]:
    paper = published()
    for model in paper["models"]:
        for figure in paper["speed"][model][algorithm]:
            yield number(figure, 2)
