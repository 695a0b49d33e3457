"""The tables of the SSBD paper (Zeng et al., arXiv 2509.21740v2), with our figures next to the paper's.

`PROTOCOL` are the paper's settings. Everything that surtitle adds to the paper's method is a setting; the
table of deviations turns on one of them at a time. The paper's figures are in ``ssbd.toml``.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from flows.measuring.measured import MeasuredRun
from flows.measuring.plan import BASELINE, USUAL, DisplayMask, Grid
from flows.measuring.results import Row
from flows.measuring.scores import SegmentTrial
from flows.pages.table import Table, number
from operators.decoding.acceptance import BIAS, UTILITY
from operators.masking import MaskRule
from operators.text import common_prefix

#: The version of the paper whose protocol and tables these are, as signatures name it.
NAME = "zeng2026v2"
BIASES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0)
MASKS = (3, 5)
#: The paper's pairs of languages, in its order.
PAIRS = {"en→de": "German", "en→zh": "Chinese", "en→ja": "Japanese"}

#: The draft is the unchanged last output, and the source is unchanged. All tokens are verified (no commits),
#: with the same bias at finals. The rest is decoded greedily, without guards.
PROTOCOL: dict[str, Any] = {
    "guards": "none", "close_unfinished": False, "hold_back": 0, "strip_punctuation": False,
    "glossary": None, "accept": "bias", "bias": BIAS, "final_bias": "same", "commit": 0, "beam": 1,
}  # fmt: skip
#: Surtitle's deviations from the protocol, one at a time.
DEVIATIONS: dict[str, dict[str, Any]] = {
    "unfinished text gets a full stop": {"close_unfinished": True},
    "its last word waits": {"hold_back": 1},
    "no closing marks in the draft": {"guards": "marks"},
    "repetitions are cut": {"guards": "repetition"},
    "figures end": {"guards": "figures"},
    "finals end their sentence": {"guards": "endings"},
    "foreign or empty answers are not taken": {"guards": "answers"},
    f"{UTILITY} instead of β": {"accept": UTILITY},
    "a final without bias": {"final_bias": 0.0},
    "accepted tokens are committed": {"commit": 1},
    "beam search of 4": {"beam": 4},
}
_EXACT: MaskRule = "tokens"
_UNMASKED = DisplayMask(0, _EXACT)


def _grid(methods: Sequence[str], masks: Sequence[int] = (0,), **varied: Sequence[Any]) -> Grid:
    same = {key: (value,) for key, value in PROTOCOL.items()}
    return {"method": methods, **same, **varied, "mask_k": masks, "mask": (_EXACT,)}


#: The grids of each table.
TABLES: dict[str, tuple[Grid, ...]] = {
    "2": (_grid((BASELINE, "ssbd")),),
    "3": (_grid((BASELINE, "ssbd"), bias=BIASES),),
    "4": (
        _grid((BASELINE, "ssbd", "continuous"), (0, *MASKS)),
        _grid(("ssbd",), (0, *MASKS), draft_mask=MASKS),
    ),
    "6": (_grid((BASELINE, "ssbd")),),
    "7": (_grid((BASELINE, "ssbd"), bias=(BIAS, 0.5)),),
    "deviations": (
        _grid((BASELINE, "ssbd"), (0, MASKS[0])),
        *(
            _grid((BASELINE, "ssbd"), (), **{key: (value,) for key, value in one.items()})
            for one in DEVIATIONS.values()
        ),
        {"mask_k": (MASKS[0],), "mask": ("words", "steady")},
    ),
}
#: The tables that `bench --paper` shows.
USUAL_TABLES = ("2", "3", "4", "6")


def grids_of(tables: Sequence[str]) -> list[Grid]:
    """The grids of these tables; the first grid is the reference of all figures."""
    return [*TABLES["2"], *(grid for table in tables for grid in TABLES[table])]


def tables_of(wanted: Sequence[str], *, is_recorded: bool, is_shown: bool) -> list[str]:
    """The tables that need a run on recorded updates or a text; some show one pair only (``is_shown``)."""
    if is_recorded:
        return [table for table in wanted if table == "6"]
    return [table for table in wanted if table == "2" or (table != "6" and is_shown)]


def common_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that all runs share: the prompts of table 5, if it has one for the model."""
    return {"template": "paper", **given}


_COLUMNS = ("COMET", "NE", "A/D", "A/O")
_SOURCE = (
    "The paper's figures: Zeng et al., arXiv 2509.21740v2, tables 2, 3, 4 and 6; Apple M2 Pro, llama.cpp "
    "with Metal, Q4_K_M, means of three runs, COMET wmt22-comet-da, NE in tokens of flores101."
)

#: One line of a table for one model; A/D and A/O are per cent; figures that are not printed are absent.
Figures = Mapping[str, Any]


@cache
def published() -> dict[str, Any]:
    """The paper's tables: the ``models``, ``text`` and ``speech`` by language, the ``bias``, the ``mask``."""
    return tomllib.loads(Path(__file__).with_name("ssbd.toml").read_text(encoding="utf-8"))


def _which(run: MeasuredRun, method: str, **changed: Any) -> int:
    """The number of the variant with the paper's settings except those ``changed``; -1 if none has."""
    return run.which({**PROTOCOL, **changed, "method": method})


def _find(run: MeasuredRun, method: str, mask: DisplayMask = _UNMASKED, **changed: Any) -> Row | None:
    return run.row(_which(run, method, **changed), mask)


def _product(run: MeasuredRun, method: str = USUAL.method) -> Row | None:
    """Surtitle with its defaults, its own mask included."""
    return run.row(run.which({"method": method}), DisplayMask())


def _is_recorded(run: MeasuredRun) -> bool:
    """Whether the corpus comes from a recogniser, and not from a growing text."""
    return "|updates:recorded" in run.signature["corpus"]


def _closing(run: MeasuredRun) -> list[str]:
    """Notes about all tables, one sentence per line."""
    lines = []
    if (tokens := run.signature["tokenizer"]) != "flores101":
        lines.append(f"NE here counts tokens of {tokens}; --tokenizer flores101 counts the paper's.")
    return [
        *lines,
        "A/D and A/O in %; ×: tokens per second against RT's, the paper's speedup; wall: by wall time. "
        "A dash marks what was not measured.",
        _SOURCE,
    ]


def paper_tables(runs: Sequence[MeasuredRun], wanted: Sequence[str]) -> tuple[Table, ...]:
    """The ``wanted`` tables, and notes about all. NE is the mean over the segments, as in the paper."""
    made: list[Table] = []
    for title, printed, is_recorded in (
        ("Table 2: a text that grows (the paper: Flores, by three words)", "text", False),
        ("Table 6: a recogniser's updates (the paper: ACL 60/60, Azure)", "speech", True),
    ):
        own = [run for run in runs if _is_recorded(run) == is_recorded]
        if own and ("6" if is_recorded else "2") in wanted:
            made.append(_languages(title, published()[printed], own))
    for name, of_one in (("3", _biases), ("4", _masks), ("deviations", _deviations), ("7", _case)):
        made += [of_one(run) for run in runs if name in wanted and of_one(run).rows]
    if not made:
        return ()
    return (*made[:-1], made[-1]._replace(notes=(*made[-1].notes, *_closing(runs[0]))))


def _languages(title: str, printed: Mapping[str, Any], runs: Sequence[MeasuredRun]) -> Table:
    lines: list[tuple[str, ...]] = []
    for pair in dict.fromkeys((*PAIRS, *(run.pair for run in runs))):
        lines.append((pair, *[""] * 8))
        for run in runs:
            both = {"RT": _find(run, BASELINE), "SSBD": _find(run, "ssbd")} if run.pair == pair else {}
            lines += [
                (f"{run.model}, {method}", *_cells(_measured(row)), _spread(row), _quality(row))
                for method, row in both.items()
                if row is not None
            ]
        theirs = printed.get(pair.removeprefix("en→"), {})
        for place, name in enumerate(published()["models"] if theirs else ()):
            lines += [
                (f"the paper: {name}, {method}", *_cells(theirs[method][place]), "", "")
                for method in ("RT", "SSBD")
            ]
    columns = ("", *_COLUMNS, "TPS", "×", "range", "chrF")
    notes = tuple(one for run in runs for one in _by_default(run))
    return Table(title, columns, tuple(lines), notes=notes)


def _by_default(run: MeasuredRun) -> list[str]:
    """The product with its defaults, if this run has measured it."""
    if (row := _product(run)) is None:
        return []
    _, ne, drafted, output, tps, ratio = _cells(_measured(row, shown=False))
    return [
        f"surtitle as it runs by default ({run.pair}, {run.model}): NE {ne}, A/D {drafted}, A/O {output}, "
        f"TPS {tps}, × {ratio}; {row['metrics']['speedup']:.2f} by wall time"
    ]


def _biases(run: MeasuredRun) -> Table:
    rows = {
        "RT": _find(run, "retranslate"),
        **{f"{bias:g}": _find(run, "ssbd", bias=bias) for bias in BIASES},
    }
    return _of_one_pair(run, "Table 3: the bias", "β", rows, published()["bias"])


def _masks(run: MeasuredRun) -> Table:
    def masked(k: int, draft_mask: int) -> Row | None:
        return _find(run, "ssbd", DisplayMask(k, _EXACT), draft_mask=draft_mask)

    rows = {
        "no mask": masked(0, 0),
        **{f"mask-{k} in the draft": masked(k, k) for k in MASKS},
        **{f"display-only mask-{k}": masked(k, 0) for k in MASKS},
        "CD": _find(run, "continuous"),
    }
    title = f"Table 4: where the mask is applied, β = {BIAS:g}; NE of what is shown"
    return _of_one_pair(run, title, "k", rows, published()["mask"])


def _of_one_pair(
    run: MeasuredRun, title: str, first: str, rows: Mapping[str, Row | None], printed: Mapping[str, Figures]
) -> Table:
    """This run's rows, next to the paper's for one model and pair; none if they were not measured."""
    return Table(
        title,
        (first, *_COLUMNS, "×", "wall", "chrF", *_COLUMNS, "×"),
        tuple(
            (
                name,
                *_cells(_measured(row), tps=False),
                f"{row['metrics']['speedup']:.2f}",
                _quality(row),
                *_cells(printed[name], tps=False),
            )
            for name, row in rows.items()
            if row is not None and all(rows.values())
        ),
        groups=((f"{run.model}, {run.pair}", 7), (f"{published()['models'][0]}, Flores en→zh", 5)),
    )


def _deviations(run: MeasuredRun) -> Table:
    """The effect of each deviation from the protocol alone; the first row is `PROTOCOL`."""
    lines = [
        (name, *_deviating(*(_find(run, method, **changed) for method in (BASELINE, "ssbd"))))
        for name, changed in {"the paper's protocol": {}, **DEVIATIONS}.items()
        if all(_which(run, "ssbd", **one) >= 0 for one in DEVIATIONS.values())
    ]
    for rule in ("tokens", "words", "steady"):
        if (row := _find(run, "ssbd", DisplayMask(MASKS[0], rule))) is not None:
            name = f"mask-{MASKS[0]} of the display: {'exactly' if rule == _EXACT else rule}"
            lines.append((name, "", "", *_cells(_measured(row), tps=False)[1:], "", ""))
    if lines and _product(run) is not None:
        by_default = _deviating(_product(run, BASELINE), _product(run), shown=False)
        lines.append(("all: surtitle by default", *by_default))
    return Table(
        f"What each deviation from the protocol is worth alone ({run.model}, {run.pair})",
        ("", "NE", "chrF", "NE", "A/D", "A/O", "×", "chrF", "BLEU"),
        tuple(lines),
        groups=(("RT", 2), ("SSBD", 6)),
    )


def _deviating(base: Row | None, own: Row | None, *, shown: bool = True) -> list[str]:
    assert base is not None and own is not None, "both are measured"  # noqa: PT018
    ne = f"{_measured(base, shown=shown)['ne']:.2f}"
    cells = _cells(_measured(own, shown=shown), tps=False)[1:]
    return [ne, _quality(base), *cells, _quality(own), number(own["metrics"]["bleu"], 1)]


def _case(run: MeasuredRun) -> Table:
    """The segment in which SSBD saves most changes against RT; words that replace erased ones are marked."""
    methods = {
        "RT": _which(run, BASELINE),
        f"SSBD, β = {BIAS:g}": _which(run, "ssbd"),
        "SSBD, β = 0.5": _which(run, "ssbd", bias=0.5),
    }
    title = f"Table 7: one segment, update by update; changed words in bold ({run.model}, {run.pair})"
    columns = ("speech", *methods)
    if not run.trials or min(methods.values()) < 0:
        return Table(title, columns, ())
    own = [{name: _marked(trial, which) for name, which in methods.items()} for trial in run.trials]
    changes = [{name: sum("**" in one for one in texts) for name, texts in each.items()} for each in own]
    saved = [one["RT"] - one[f"SSBD, β = {BIAS:g}"] for one in changes]
    best = saved.index(max(saved))
    speech = _each_new(run.sources[run.trials[best].segment])
    return Table(title, columns, tuple(zip(speech, *own[best].values(), strict=True)))


def _marked(trial: SegmentTrial, which: int) -> list[str]:
    """The texts of a segment's updates; words from the first changed one on are marked."""
    return [*_each_marked([one.text.split() for one in trial.updates[which]])]


def _each_new(texts: Sequence[str]) -> Iterator[str]:
    """Each text, or only what was added to the one before."""
    for before, text in zip(("", *texts), texts, strict=False):
        yield f"… {text.removeprefix(before).strip()}" if before and text.startswith(before) else text


def _each_marked(texts: Sequence[Sequence[str]]) -> Iterator[str]:
    before: Sequence[str] = []
    for words in texts:
        same = common_prefix(before, words)
        changed = len(before) > same
        rest = " ".join(words[same:])
        yield " ".join([*words[:same], *([f"**{rest}**" if changed else rest] if rest else ())])
        before = words


def _quality(row: Row) -> str:
    """ChrF against the references, or without them in brackets against re-translation."""
    own, other = row["metrics"]["chrf"], row["metrics"]["chrf_of_baseline"]
    return f"({other:.1f})" if own is None else f"{own:.1f}"


def _spread(row: Row) -> str:
    return "–".join(f"{one:.2f}" for one in row["metrics"]["tps_ratio_range"])


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
