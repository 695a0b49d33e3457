"""The tables of the SSBD paper (Zeng et al., arXiv 2509.21740v2), with our figures next to the paper's.

A table of the paper compares models and languages; a run has one of each. Unmeasured figures are dashes.
The paper's figures are in ``paper.toml``.
"""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from flows.measuring.plan import USUAL, row_settings
from flows.measuring.results import Row
from flows.pages.table import Table, number
from operators.decoding.acceptance import BIAS
from operators.languages import language

BIASES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0)
MASKS = (3, 5)
#: The paper's pairs of languages, in its order.
PAIRS = {"en→de": "German", "en→zh": "Chinese", "en→ja": "Japanese"}

# As in the paper, all tokens are verified (no commits), a final has the bias of other updates, and all else
# is decoded greedily.
_PAPER = {"hold_back": 0, "commit": 0, "accept": "bias", "beam": 1}
_GRID = {key: (value,) for key, value in _PAPER.items()} | {"final_bias": ("same",)}
#: The grids for the tables: the methods with the sweep of the bias, and masks on the draft.
GRIDS: tuple[dict[str, Sequence[Any]], ...] = (
    {"method": ("retranslate", "ssbd", "continuous"), **_GRID, "bias": BIASES, "mask_k": (0, *MASKS)},
    {"method": ("ssbd",), **_GRID, "bias": (BIAS,), "mask_k": (), "draft_mask": MASKS},
)

_COLUMNS = ("COMET", "NE", "A/D", "A/O")
_SOURCE = (
    "The paper's figures: Zeng et al., arXiv 2509.21740v2, tables 2, 3, 4 and 6; Apple M2 Pro, llama.cpp, "
    "Q4_K_M, means of three runs, COMET wmt22-comet-da, NE in tokens of flores101."
)


#: One line of a table for one model; A/D and A/O are per cent; what is not printed is absent.
Figures = Mapping[str, Any]


@cache
def published() -> dict[str, Any]:
    """The paper's tables: the ``models``, ``text`` and ``speech`` by language, the ``bias``, the ``mask``."""
    return tomllib.loads(Path(__file__).with_name("paper.toml").read_text(encoding="utf-8"))


class PaperRun(NamedTuple):
    rows: Sequence[Row]
    signature: dict[str, Any]
    #: The languages.
    source: str
    target: str

    @property
    def is_recorded(self) -> bool:
        """Whether the corpus comes from a recogniser, and not from a growing text."""
        return "|updates:recorded" in self.signature["corpus"]

    @property
    def pair(self) -> str:
        """The languages' codes."""
        return f"{language(self.source).code}→{language(self.target).code}"

    def closing(self) -> list[str]:
        """Notes about all tables, one sentence per line."""
        model, corpus, tokens = (self.signature[name] for name in ("model", "corpus", "tokenizer"))
        lines = [
            f"here: {model['file']}, {corpus}, {self.pair}. A dash was not measured: a run has "
            "one language, table 2 needs a text, table 6 recorded partials, and COMET --comet."
        ]
        if tokens != "flores101":
            lines.append(f"NE here counts tokens of {tokens}: docs/measuring.md says how to have flores101.")
        return [
            *lines,
            "A/D and A/O in %; ×: tokens per second against RT's, the paper's speedup; wall: by wall time.",
            _SOURCE,
        ]


def paper_tables(run: PaperRun) -> tuple[Table, ...]:
    """Tables 2, 3, 4 and 6, and notes about all. NE is the mean over the segments, as in the paper."""
    text = "Table 2: a text that grows (the paper: Flores, by three words)"
    speech = _languages(run, "Table 6: a recogniser's updates (the paper: ACL 60/60)", recorded=True)
    return (
        _languages(run, text, recorded=False),
        _biases(run),
        _masks(run),
        speech._replace(notes=(*speech.notes, *run.closing())),
    )


def _languages(run: PaperRun, title: str, *, recorded: bool) -> Table:
    paper, fits = published(), run.is_recorded == recorded
    printed = paper["speech" if recorded else "text"]
    own = {"RT": _find(run.rows, "retranslate"), "SSBD": _find(run.rows, "ssbd", BIAS)} if fits else {}
    lines: list[tuple[str, ...]] = []
    for pair in dict.fromkeys((*PAIRS, run.pair) if fits else PAIRS):
        lines.append((pair, *[""] * 18))
        for method in ("RT", "SSBD"):
            figures = _cells(_measured(own[method])) if pair == run.pair and fits else ["–"] * 6
            theirs = printed.get(pair.removeprefix("en→"), {}).get(method)
            cells = [""] * 12 if theirs is None else [cell for one in theirs for cell in _cells(one)]
            lines.append((method, *figures, *cells))
    columns = (*_COLUMNS, "TPS", "×")
    return Table(
        title, ("", *columns * 3), tuple(lines),
        groups=(("here", 6), *((model, 6) for model in paper["models"])),
        notes=tuple(_by_default(run) if fits else ()),
    )  # fmt: skip


def _by_default(run: PaperRun) -> list[str]:
    """The product with its defaults, if this run has measured it."""
    # The defaults depend on the model.
    usual = row_settings(USUAL, knows_unfinished=run.signature["knows_unfinished"])
    for row in run.rows:
        if row["settings"] == usual | {"mask_k": row["settings"]["mask_k"]}:
            _, ne, drafted, output, tps, ratio = _cells(_measured(row, shown=False))
            return [
                f"surtitle as it runs by default: NE {ne}, A/D {drafted}, A/O {output}, TPS {tps}, "
                f"× {ratio}; {row['metrics']['speedup']:.2f} by wall time"
            ]
    return []


def _biases(run: PaperRun) -> Table:
    rows = {
        "RT": _find(run.rows, "retranslate"),
        **{f"{bias:g}": _find(run.rows, "ssbd", bias) for bias in BIASES},
        "CD": _find(run.rows, "continuous"),
    }
    return _of_one_pair(run, "Table 3: the bias", "β", rows, published()["bias"])


def _masks(run: PaperRun) -> Table:
    def masked(k: int, *, draft: bool) -> Row:
        return _find(run.rows, "ssbd", BIAS, mask_k=k, draft_mask=k if draft else 0)

    rows = {
        "no mask": masked(0, draft=False),
        **{f"mask-{k} in the draft": masked(k, draft=True) for k in MASKS},
        **{f"display-only mask-{k}": masked(k, draft=False) for k in MASKS},
    }
    title = f"Table 4: where the mask is applied, β = {BIAS:g}; NE of what is shown"
    return _of_one_pair(run, title, "k", rows, published()["mask"])


def _of_one_pair(
    run: PaperRun, title: str, first: str, rows: dict[str, Row], printed: Mapping[str, Figures]
) -> Table:
    """This run's rows, next to the paper's for one model and pair."""
    quality = "chrF" if run.rows[0]["metrics"]["chrf"] is not None else "chrF to RT"
    return Table(
        title,
        (first, *_COLUMNS, "×", "wall", quality, *_COLUMNS, "×"),
        tuple(
            (
                name,
                *_cells(_measured(row), tps=False),
                f"{row['metrics']['speedup']:.2f}",
                f"{row['metrics']['chrf'] or row['metrics']['chrf_of_baseline']:.1f}",
                *_cells(printed[name], tps=False),
            )
            for name, row in rows.items()
        ),
        groups=((f"here, {run.pair}", 7), (f"{published()['models'][0]}, Flores en→zh", 5)),
    )


def _find(
    rows: Sequence[Row], method: str, bias: float | None = None, *, mask_k: int = 0, draft_mask: int = 0
) -> Row:
    """The row of one of `GRIDS`."""
    wanted = _PAPER | {"method": method, "bias": bias, "final_bias": bias, "draft_mask": draft_mask}

    def fits(key: str, value: Any) -> bool:
        """Whether it is the wanted value; unused and default settings fit."""
        return value is None or value == wanted.get(key, getattr(USUAL, key, None))

    return next(
        row
        for row in rows
        if row["settings"]["mask_k"] == mask_k
        and all(fits(key, value) for key, value in row["settings"].items() if key != "mask_k")
        and row["settings"]["hold_back"] == 0
    )


def _measured(row: Row, *, shown: bool = True) -> Figures:
    """Our figures; those of the draft are absent if there is none, as in the paper."""
    metrics = row["metrics"]
    drafted, output = metrics["accepted_over_drafted"], metrics["accepted_over_output"]
    return {
        "comet": metrics["comet"],
        "ne": metrics["ne_shown_mean" if shown else "ne_raw_mean"],
        "speedup": metrics["tps_ratio"],
        "drafted": None if drafted is None else 100 * drafted,
        "output": None if drafted is None else 100 * (output or 0.0),
        "tps": round(metrics["tokens_per_second"]),
    }


def _cells(figures: Figures, *, tps: bool = True) -> list[str]:
    return [
        number(figures.get("comet"), 3),
        f"{figures['ne']:.2f}",
        _share(figures.get("drafted")),
        _share(figures.get("output")),
        *([f"{figures['tps']}"] if tps else []),
        f"{figures['speedup']:.2f}",
    ]


def _share(percent: float | None) -> str:
    # As many decimals as fit.
    return "" if percent is None else f"{percent:.1f}" if percent < 99.95 else "100"
