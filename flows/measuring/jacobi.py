"""Tables 1 and 6 of the paper on parallel decoding (Santilli et al. 2023), with our figures next to theirs.

Greedy decoding, PJ, PGJ and HGJ on whole sentences: time, iterations, BLEU. A run has one pair of languages
and one number of threads; several runs are shown side by side, like the cores in figure 3. The paper's
figures are in ``jacobi.toml``.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from flows.measuring.measured import MeasuredRun
from flows.measuring.plan import BASELINE, Grid
from flows.pages.table import Table, number

#: The protocol, as signatures name it.
NAME = "santilli2023"
#: A sentence is decoded once, from scratch (so each segment has to be one update: ``--lag 1000``), and blocks
#: start from padding.
PROTOCOL: dict[str, Any] = {"guards": "none", "accept": "exact", "commit": 0, "guess": "pad"}
#: The m of PJ. The authors use the length of the greedy output, which is not known before; most are shorter.
PARALLEL_LENGTH = 64


def _grid(*methods: str, **varied: Sequence[Any]) -> Grid:
    same = {key: (value,) for key, value in PROTOCOL.items()}
    return {"method": methods, **same, "mask_k": (0,), **varied}


#: The grids of each table; both tables have the same.
TABLES: dict[str, tuple[Grid, ...]] = dict.fromkeys(
    ("1", "6"),
    (
        _grid(BASELINE, "jacobi", horizon=(PARALLEL_LENGTH,)),
        _grid("gs-jacobi", block=(5, 3)),
        _grid("hybrid-jacobi", block=(3,)),
    ),
)

#: The paper's algorithms, each with our method and its b.
_ALGORITHMS: dict[str, tuple[str, int | None]] = {
    "Greedy": (BASELINE, None),
    "PJ": ("jacobi", None),
    "PGJ, b = 5": ("gs-jacobi", 5),
    "PGJ, b = 3": ("gs-jacobi", 3),
    "HGJ, b = 3": ("hybrid-jacobi", 3),
}
_NOTES = (
    "×: greedy decoding's time divided by the method's. to greedy: chrF of the outputs against greedy "
    "decoding's, 100 where all are equal.",
    "Iterations: greedy decoding's passes divided by the method's. The paper's last iteration of a block "
    "confirms the one before; here no pass does only that, so there are fewer.",
    f"PJ here has m = {PARALLEL_LENGTH} unless the run sets another; in the paper, m is the length of the "
    "greedy output.",
    "The paper's figures: Santilli et al. 2023, tables 1 and 6 (WMT14 and WMT16; Opus on a CPU, MBart50 on a "
    "GPU), where BLEU is greedy decoding's in every row. Its figure 3: PGJ × 1.11 on 8 cores, 1.98 on 122.",
)


def grids_of(tables: Sequence[str]) -> list[Grid]:
    return [grid for table in tables for grid in TABLES[table]]


@cache
def published() -> dict[str, Any]:
    """The paper's tables: ``speed`` and ``iterations`` by algorithm."""
    return tomllib.loads(Path(__file__).with_name("jacobi.toml").read_text(encoding="utf-8"))


def paper_tables(runs: Sequence[MeasuredRun], wanted: Sequence[str]) -> tuple[Table, ...]:
    """Tables 1 and 6; runs of one pair differ in their threads. A dash marks what was not measured."""
    tables = {"1": _speed(runs), "6": _iterations(runs)}
    *others, last = (tables[one] for one in TABLES if one in wanted)
    return (*others, last._replace(notes=_NOTES))


def _speed(runs: Sequence[MeasuredRun]) -> Table:
    models, pairs = published()["models"], published()["pairs"]
    return Table(
        "Table 1: time and quality of parallel decoding, here and in the paper",
        ("", *("×", "BLEU", "to greedy") * len(runs), *(pairs * len(models))),
        tuple(
            (name, *(cell for run in runs for cell in _cells(run, name)), *_printed(name))
            for name in _ALGORITHMS
        ),
        groups=(*((_name(run), 3) for run in runs), *((model, len(pairs)) for model in models)),
    )


def _iterations(runs: Sequence[MeasuredRun]) -> Table:
    printed = published()["iterations"]
    return Table(
        "Table 6: iterations",
        ("", *map(_name, runs), "the paper"),
        tuple(
            (
                name,
                *(number(_metrics(run, name).get("passes_saved"), 2) for run in runs),
                printed.get(name, "–"),
            )
            for name in _ALGORITHMS
        ),
    )


def _name(run: MeasuredRun) -> str:
    threads = run.signature["threads"]
    return f"{run.pair}, {threads} {'thread' if threads == 1 else 'threads'}"


def _metrics(run: MeasuredRun, algorithm: str) -> Mapping[str, Any]:
    """The figures of an algorithm that starts from padding; none if it was not measured."""
    method, block = _ALGORITHMS[algorithm]
    wanted = {"method": method, "block": block, "guess": None if method == BASELINE else "pad"}
    rows = (row["metrics"] for row in run.translators if wanted.items() <= row["settings"].items())
    return next(rows, {})


def _cells(run: MeasuredRun, algorithm: str) -> Iterator[str]:
    metrics = _metrics(run, algorithm)
    for key, digits in (("speedup", 2), ("bleu", 1), ("chrf_of_baseline", 1)):
        yield number(metrics.get(key), digits)


def _printed(algorithm: str) -> Iterator[str]:
    paper = published()
    for model in paper["models"]:
        for figure in paper["speed"][model][algorithm]:
            yield number(figure, 2)
