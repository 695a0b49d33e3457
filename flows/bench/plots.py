"""The benchmark's plots: erasure and quality against the bias, speedup against acceptance."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from connectors.files.whole import write_whole
from flows.bench.row import MethodRow
from flows.bench.tables import label

# Okabe and Ito's colours, which colour-blind people can distinguish.
_BLUE, _ORANGE, _GREEN, _GREY = "#0072B2", "#D55E00", "#009E73", "#595959"
_STYLE: dict[Any, object] = {  # matplotlib spells out the names of all its settings in the type
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    # Makes the files reproducible.
    "svg.hashsalt": "surtitle",
}


def write_plots(rows: Sequence[MethodRow], caption: str, folder: Path) -> list[Path]:
    """Write an SVG for each plot, with ``caption`` in small print below it; return the paths.

    Without SSBD's bias among the rows, there is no plot against it.
    """
    pictures = {"acceptance.svg": against_acceptance(rows, caption)}
    if any(row.method == "ssbd" and row.bias is not None for row in rows):
        pictures["bias.svg"] = against_bias(rows, caption)
    paths = []
    for name, figure in pictures.items():
        path = folder / name
        drawn = io.BytesIO()
        with mpl.rc_context(_STYLE):
            figure.savefig(drawn, format="svg", metadata={"Date": None})
        write_whole(path, drawn.getvalue())
        paths.append(path)
    return paths


def against_bias(rows: Sequence[MethodRow], caption: str) -> Figure:
    """Erasure and quality against the bias, with re-translation as a horizontal line."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(8.4, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        _erasure(left, rows)
        _quality(right, rows)
        for axes in (left, right):
            axes.set_xlabel("bias β")
            axes.set_xlim(-0.03, 0.03 + max(0.5, *(row.bias or 0.0 for row in rows)))
        _caption(figure, caption)
    return figure


def against_acceptance(rows: Sequence[MethodRow], caption: str) -> Figure:
    """Speedup against the share of the output that came from drafts; bars show the range of the repeats."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        axes = figure.subplots()
        runs = _one_for_each_run(rows)
        for row, _ in runs:
            low, high = row.speedup - row.speedup_range[0], row.speedup_range[1] - row.speedup
            colour, marker = _look(row)
            axes.errorbar(
                _acceptance(row), row.speedup, [[low], [high]],
                fmt=marker, color=colour, capsize=2, markersize=5, elinewidth=0.8,
            )  # fmt: skip
        for row, text in _labels(runs):
            # Labels of points on the right would leave the plot.
            side, offset = ("right", -7) if _acceptance(row) > 50 else ("left", 7)
            axes.annotate(
                text, (_acceptance(row), row.speedup), (offset, 3), textcoords="offset points", ha=side,
                fontsize=8, color=_look(row)[0],
            )  # fmt: skip
        axes.axhline(1.0, color=_GREY, linewidth=0.8, linestyle="--", zorder=0)
        axes.set_xlim(-3, 103)
        axes.set_xlabel("A/O: tokens of the output that came from drafts, %")
        axes.set_ylabel("speedup (wall time)")
        axes.set_title("Speedup against acceptance (β: SSBD)")
        _caption(figure, caption)
    return figure


def _erasure(axes: Axes, rows: Sequence[MethodRow]) -> None:
    masks = sorted({row.mask_k for row in rows})
    lines = [("whole translation", _BLUE, "o", masks[0], True)]
    shown = [mask for mask in masks if mask > 0][:2]
    for mask, colour, marker in zip(shown, (_ORANGE, _GREEN), ("s", "^"), strict=False):
        lines.append((f"shown, {mask} tokens withheld", colour, marker, mask, False))
    for name, colour, marker, mask, is_raw in lines:
        sweep = _sweep(rows, mask)
        values = [row.ne_raw if is_raw else row.ne_shown for row in sweep]
        axes.plot([row.bias or 0.0 for row in sweep], values, color=colour, marker=marker, label=name)
        base = next(row for row in rows if row.method == "retranslate" and row.mask_k == mask)
        axes.axhline(base.ne_raw if is_raw else base.ne_shown, color=colour, linewidth=0.8, linestyle="--")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("normalised erasure")
    axes.set_title("Erasure (dashed: re-translation)")
    axes.legend(fontsize=8)


def _quality(axes: Axes, rows: Sequence[MethodRow]) -> None:
    sweep = _sweep(rows, rows[0].mask_k)
    biases = [row.bias or 0.0 for row in sweep]
    if rows[0].chrf is None:
        axes.plot(biases, [row.chrf_of_baseline for row in sweep], color=_BLUE, marker="o")
        axes.set_title("Likeness of the finals to re-translation's")
        axes.set_ylim(0, 105)
    else:
        axes.plot(biases, [row.chrf or 0.0 for row in sweep], color=_BLUE, marker="o")
        axes.axhline(rows[0].chrf, color=_BLUE, linewidth=0.8, linestyle="--")
        axes.set_title("Quality of the finals (dashed: re-translation)")
        axes.margins(y=0.3)
    axes.set_ylabel("chrF")


def _sweep(rows: Sequence[MethodRow], mask: int) -> list[MethodRow]:
    """The longest series of SSBD rows that differ only in the bias, in the order of the bias."""
    series: dict[tuple[object, ...], list[MethodRow]] = {}
    for row in rows:
        if row.method == "ssbd" and row.mask_k == mask and row.bias is not None:
            for settings in _other_settings(row):
                series.setdefault(settings, []).append(row)
    longest = max(series.values(), key=lambda own: len(own))
    return sorted(longest, key=lambda row: row.bias or 0.0)


def _other_settings(row: MethodRow) -> set[tuple[object, ...]]:
    """All settings except the bias; a final bias equal to it may be a fixed value or follow each row."""
    others = (row.draft_mask, row.commit, row.commit_gap, row.drop_revised, row.min_block, row.hold_back)
    finals: set[object] = {row.final_bias, "same"} if row.final_bias == row.bias else {row.final_bias}
    return {(*others, row.strip_punctuation, final) for final in finals}


def _one_for_each_run(rows: Sequence[MethodRow]) -> list[tuple[MethodRow, str]]:
    named = {label(row, mask=False): row for row in reversed(rows)}
    return [(row, name) for name, row in reversed(named.items())]


def _labels(runs: Sequence[tuple[MethodRow, str]]) -> list[tuple[MethodRow, str]]:
    """A label for each point; overlapping points share one."""
    height = max(row.speedup for row, _ in runs) - min(1.0, *(row.speedup for row, _ in runs))
    places: list[tuple[MethodRow, str]] = []
    for row, name in runs:
        text = "re-translation" if row.method == "retranslate" else name.removeprefix("ssbd ")
        for number, (other, words) in enumerate(places):
            is_near = abs(_acceptance(row) - _acceptance(other)) < 12
            if is_near and abs(row.speedup - other.speedup) < 0.04 * height:
                places[number] = (other, f"{words}, {text}")
                break
        else:
            places.append((row, text))
    return places


def _acceptance(row: MethodRow) -> float:
    return 100 * (row.accepted_over_output or 0.0)


def _look(row: MethodRow) -> tuple[str, str]:
    looks = {"retranslate": (_GREY, "D"), "ssbd": (_BLUE, "o"), "continuous": (_ORANGE, "s")}
    return looks.get(row.method, (_BLUE, "^"))


def _caption(figure: Figure, text: str) -> None:
    figure.supxlabel(text, fontsize=7, color=_GREY, x=0.01, ha="left")
