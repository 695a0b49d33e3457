"""The tables of the SSBD paper (Zeng et al., arXiv 2509.21740v2), with our figures next to the paper's.

A table of the paper compares models and languages; a run has one of each. Figures that it has not measured
are dashes, and a line below the table says which command measures them.
"""

from collections.abc import Sequence

from flows.bench.paper_run import PAIRS, PaperRun
from flows.bench.plan import USUAL, Grid, columns_of
from flows.bench.published import MODELS, TABLE_2, TABLE_3, TABLE_4, TABLE_6, ByLanguage, PublishedFigures
from flows.bench.row import MethodRow
from flows.pages.table import Table, number

BIASES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0)
DEFAULT_BIAS = 0.2
MASKS = (3, 5)

# As in the paper, all tokens are verified (no commits), and a final has the same bias as other updates.
_SWEEP = Grid(
    method=("retranslate", "ssbd", "continuous"),
    bias=BIASES,
    mask_k=(0, *MASKS),
    commit=(0,),
    final_bias=("same",),
    accept=("bias",),
)
#: The grids for the tables: the methods with the sweep of the bias, and masks on the draft.
GRIDS = (_SWEEP, _SWEEP._replace(method=("ssbd",), bias=(DEFAULT_BIAS,), mask_k=(), draft_mask=MASKS))

_COLUMNS = ("COMET", "NE", "A/D", "A/O")


def paper_tables(run: PaperRun) -> tuple[Table, ...]:
    """Tables 2, 3, 4 and 6. NE is the mean over the segments, as in the paper."""
    return (
        _languages(
            run, "Table 2: a text that grows (the paper: Flores, by three words)", TABLE_2, recorded=False
        ),
        _biases(run),
        _masks(run),
        _languages(run, "Table 6: a recogniser's updates (the paper: ACL 60/60)", TABLE_6, recorded=True),
    )


def _languages(run: PaperRun, title: str, published: ByLanguage, *, recorded: bool) -> Table:
    fits = run.is_recorded == recorded
    own = (
        {"RT": _find(run.rows, "retranslate"), "SSBD": _find(run.rows, "ssbd", DEFAULT_BIAS)} if fits else {}
    )
    lines: list[tuple[str, ...]] = []
    for pair in dict.fromkeys((*PAIRS, run.pair) if fits else PAIRS):
        lines.append((pair, *[""] * 18))
        for method in ("RT", "SSBD"):
            figures = _measured(own[method], tps=True) if pair == run.pair and fits else ["–"] * 6
            theirs = published.get((pair.removeprefix("en→"), method), (None, None))
            lines.append((method, *figures, *_printed(theirs[0], tps=True), *_printed(theirs[1], tps=True)))
    columns = (*_COLUMNS, "TPS", "×")
    return Table(
        title, ("", *columns * 3), tuple(lines),
        groups=(("here", 6), *((model, 6) for model in MODELS)),
        notes=(*run.missing(recorded=recorded), *(_by_default(run) if fits else [])),
    )  # fmt: skip


def _by_default(run: PaperRun) -> list[str]:
    """A line about the product with its defaults, if this run has measured it."""
    # The defaults depend on the model.
    usual = [columns_of(USUAL, knows_unfinished=knows) for knows in (True, False)]
    for row in run.rows:
        if any(all(getattr(row, name) == one[name] for name in one) for one in usual):
            _, _, drafted, output, tps, ratio = _measured(row, tps=True)
            return [
                f"surtitle as it runs by default: NE {row.ne_raw_mean:.2f}, A/D {drafted}, A/O {output}, "
                f"TPS {tps}, × {ratio}; {row.speedup:.2f} by wall time"
            ]
    return []


def _biases(run: PaperRun) -> Table:
    rows = {
        "RT": _find(run.rows, "retranslate"),
        **{f"{bias:g}": _find(run.rows, "ssbd", bias) for bias in BIASES},
        "CD": _find(run.rows, "continuous"),
    }
    return _of_one_pair(
        run, "Table 3: the bias", "β", [(name, row, TABLE_3[name]) for name, row in rows.items()]
    )


def _masks(run: PaperRun) -> Table:
    def masked(k: int, *, draft: bool) -> MethodRow:
        return _find(run.rows, "ssbd", DEFAULT_BIAS, mask_k=k, draft_mask=k if draft else 0)

    rows = {
        "no mask": masked(0, draft=False),
        **{f"mask-{k} in the draft": masked(k, draft=True) for k in MASKS},
        **{f"display-only mask-{k}": masked(k, draft=False) for k in MASKS},
    }
    lines = [(name, row, TABLE_4[name]) for name, row in rows.items()]
    return _of_one_pair(
        run, f"Table 4: where the mask is applied, β = {DEFAULT_BIAS:g}; NE of what is shown", "k", lines
    )


def _of_one_pair(
    run: PaperRun, title: str, first: str, lines: Sequence[tuple[str, MethodRow, PublishedFigures]]
) -> Table:
    """Our rows for the languages of this run, next to the paper's for one model and pair."""
    quality = "chrF" if run.rows[0].chrf is not None else "chrF to RT"
    return Table(
        title,
        (first, *_COLUMNS, "×", "wall", quality, *_COLUMNS, "×"),
        tuple(
            (
                name,
                *_measured(row, tps=False),
                f"{row.speedup:.2f}",
                f"{row.chrf_of_baseline if row.chrf is None else row.chrf:.1f}",
                *_printed(figures, tps=False),
            )
            for name, row, figures in lines
        ),
        groups=((f"here, {run.pair}", 7), (f"{MODELS[0]}, Flores en→zh", 5)),
    )


def _find(
    rows: Sequence[MethodRow], method: str, bias: float | None = None, *, mask_k: int = 0, draft_mask: int = 0
) -> MethodRow:
    """The row of one of `GRIDS`."""
    settings = {
        "method": method,
        "bias": bias,
        "final_bias": bias,
        "mask_k": mask_k,
        "draft_mask": draft_mask,
    }
    wanted = {**settings, "commit": 0, "min_block": 1, "hold_back": 0}
    return next(
        row
        for row in rows
        if all(getattr(row, name) == value for name, value in wanted.items())
        and row.accept in (None, "bias")
        and not (row.drop_revised or row.strip_punctuation)
    )


def _measured(row: MethodRow, *, tps: bool) -> list[str]:
    """Our cells; those of the draft are empty if there is none, as in the paper."""
    shares = (row.accepted_over_drafted, row.accepted_over_output)
    return [
        number(row.comet, 3),
        f"{row.ne_shown_mean:.2f}",
        *(_share(None if row.accepted_over_drafted is None else 100 * (share or 0.0)) for share in shares),
        *([f"{row.tokens_per_second:.0f}"] if tps else []),
        f"{row.tps_ratio:.2f}",
    ]


def _printed(figures: PublishedFigures | None, *, tps: bool) -> list[str]:
    """The paper's cells; empty where the paper prints none."""
    if figures is None:
        return [""] * (6 if tps else 5)
    return [
        f"{figures.comet:.3f}",
        f"{figures.ne:.2f}",
        _share(figures.accepted_over_drafted),
        _share(figures.accepted_over_output),
        *([f"{figures.tps}"] if tps else []),
        f"{figures.speedup:.2f}",
    ]


def _share(percent: float | None) -> str:
    # As many decimals as fit.
    return "" if percent is None else f"{percent:.1f}" if percent < 99.95 else "100"
