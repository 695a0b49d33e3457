"""The tables of the SSBD paper (Zeng et al., arXiv 2509.21740v2), with our figures next to the paper's.

A table of the paper compares models and languages; a run has one of each. Figures that it has not measured
are dashes. The paper's are in ``paper.toml``.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from flows.measuring.methods.command import USUAL, columns_of, make_grid
from flows.measuring.methods.scores import MethodRow
from flows.pages.table import Table, number
from operators.decoding.acceptance import BIAS
from operators.languages import language

BIASES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0)
MASKS = (3, 5)
#: The paper's pairs of languages, in its order.
PAIRS = {"en→de": "German", "en→zh": "Chinese", "en→ja": "Japanese"}

# As in the paper, all tokens are verified (no commits), a final has the bias of other updates, and all else
# is decoded greedily.
_SWEEP = make_grid(
    hold_back=(0,),
    method=("retranslate", "ssbd", "continuous"),
    bias=BIASES,
    mask_k=(0, *MASKS),
    commit=(0,),
    final_bias=("same",),
    accept=("bias",),
    beam=(1,),
)
#: The grids for the tables: the methods with the sweep of the bias, and masks on the draft.
GRIDS = (_SWEEP, _SWEEP | {"method": ("ssbd",), "bias": (BIAS,), "mask_k": (), "draft_mask": MASKS})

_COLUMNS = ("COMET", "NE", "A/D", "A/O")
_SOURCE = (
    "The paper's figures: Zeng et al., arXiv 2509.21740v2, tables 2, 3, 4 and 6; Apple M2 Pro, llama.cpp, "
    "Q4_K_M, means of three runs, COMET wmt22-comet-da, NE in tokens of flores101."
)


class Figures(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a table for one model; A/D and A/O are per cent; None where nothing is printed."""

    #: None if it was not measured.
    comet: float | None
    ne: float
    speedup: float
    drafted: float | None = None
    output: float | None = None
    tps: int | None = None


class Published(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The paper's tables."""

    #: The models, in the order of the figures of tables 2 and 6.
    models: tuple[str, str]
    #: Tables 2 and 6, by language and method: re-translation (RT) and SSBD.
    text: dict[str, dict[str, tuple[Figures, Figures]]]
    speech: dict[str, dict[str, tuple[Figures, Figures]]]
    #: Tables 3 and 4, by bias and by mask.
    bias: dict[str, Figures]
    mask: dict[str, Figures]


@cache
def published() -> Published:
    """The paper's tables."""
    return msgspec.toml.decode(Path(__file__).with_name("paper.toml").read_bytes(), type=Published)


class PaperRun(NamedTuple):
    """What was measured in a run, and how."""

    rows: Sequence[MethodRow]
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
            "one language, table 2 needs a text, table 6 recorded partials, and COMET --comet.",
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
    printed = paper.speech if recorded else paper.text
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
        groups=(("here", 6), *((model, 6) for model in paper.models)),
        notes=tuple(_by_default(run) if fits else ()),
    )  # fmt: skip


_UNUSED = {"rerank", "hold_back"}


def _by_default(run: PaperRun) -> list[str]:
    """A line about the product with its defaults, if this run has measured it."""
    # The defaults depend on the model.
    usual = [columns_of(USUAL, knows_unfinished=knows) for knows in (True, False)]
    for row in run.rows:
        # A text that grows is not revised, and so its finals are not reranked; nor are words held back.
        if any(all(getattr(row, name) == one[name] for name in one.keys() - _UNUSED) for one in usual):
            _, ne, drafted, output, tps, ratio = _cells(_measured(row, shown=False))
            return [
                f"surtitle as it runs by default: NE {ne}, A/D {drafted}, A/O {output}, TPS {tps}, "
                f"× {ratio}; {row.speedup:.2f} by wall time"
            ]
    return []


def _biases(run: PaperRun) -> Table:
    rows = {
        "RT": _find(run.rows, "retranslate"),
        **{f"{bias:g}": _find(run.rows, "ssbd", bias) for bias in BIASES},
        "CD": _find(run.rows, "continuous"),
    }
    return _of_one_pair(run, "Table 3: the bias", "β", rows, published().bias)


def _masks(run: PaperRun) -> Table:
    def masked(k: int, *, draft: bool) -> MethodRow:
        return _find(run.rows, "ssbd", BIAS, mask_k=k, draft_mask=k if draft else 0)

    rows = {
        "no mask": masked(0, draft=False),
        **{f"mask-{k} in the draft": masked(k, draft=True) for k in MASKS},
        **{f"display-only mask-{k}": masked(k, draft=False) for k in MASKS},
    }
    title = f"Table 4: where the mask is applied, β = {BIAS:g}; NE of what is shown"
    return _of_one_pair(run, title, "k", rows, published().mask)


def _of_one_pair(
    run: PaperRun, title: str, first: str, rows: dict[str, MethodRow], printed: dict[str, Figures]
) -> Table:
    """Our rows for the languages of this run, next to the paper's for one model and pair."""
    quality = "chrF" if run.rows[0].chrf is not None else "chrF to RT"
    return Table(
        title,
        (first, *_COLUMNS, "×", "wall", quality, *_COLUMNS, "×"),
        tuple(
            (
                name,
                *_cells(_measured(row), tps=False),
                f"{row.speedup:.2f}",
                f"{row.chrf_of_baseline if row.chrf is None else row.chrf:.1f}",
                *_cells(printed[name], tps=False),
            )
            for name, row in rows.items()
        ),
        groups=((f"here, {run.pair}", 7), (f"{published().models[0]}, Flores en→zh", 5)),
    )


def _find(
    rows: Sequence[MethodRow], method: str, bias: float | None = None, *, mask_k: int = 0, draft_mask: int = 0
) -> MethodRow:
    """The row of one of `GRIDS`."""
    wanted = {
        **{"method": method, "bias": bias, "final_bias": bias, "mask_k": mask_k, "draft_mask": draft_mask},
        **{
            "commit": 0,
            "min_block": 1,
            "hold_back": 0,
            "drop_revised": False,
            "strip_punctuation": False,
            "beam": 1,
        },
    }
    return next(
        row
        for row in rows
        if row.accept in (None, "bias") and all(getattr(row, name) == wanted[name] for name in wanted)
    )


def _measured(row: MethodRow, *, shown: bool = True) -> Figures:
    """Our figures; those of the draft are absent if there is none, as in the paper."""
    drafted, output = row.accepted_over_drafted, row.accepted_over_output
    return Figures(
        comet=row.comet,
        ne=row.ne_shown_mean if shown else row.ne_raw_mean,
        speedup=row.tps_ratio,
        drafted=None if drafted is None else 100 * drafted,
        output=None if drafted is None else 100 * (output or 0.0),
        tps=round(row.tokens_per_second),
    )


def _cells(figures: Figures, *, tps: bool = True) -> list[str]:
    """The cells of a line; empty where nothing is printed."""
    return [
        number(figures.comet, 3),
        f"{figures.ne:.2f}",
        _share(figures.drafted),
        _share(figures.output),
        *([f"{figures.tps}"] if tps else []),
        f"{figures.speedup:.2f}",
    ]


def _share(percent: float | None) -> str:
    # As many decimals as fit.
    return "" if percent is None else f"{percent:.1f}" if percent < 99.95 else "100"
