"""The tables and plots of ``surtitle bench``."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from flows.measuring.plan import USUAL
from flows.pages.drawing import BLUE, GREEN, GREY, ORANGE, Panel, picture, up_to
from flows.pages.table import Column, Table, tabulated

#: A translator under a display mask: its ``settings``, and its ``metrics``. The first row is the baseline.
Row = dict[str, dict[str, Any]]
# What a label leaves out besides the defaults.
_PLAIN = {"accept": "bias", "beam": 1}
_NAMES = {"bias": "β", "final_bias": "final β", "proposal_bias": "proposal β", "commit_gap": "gap"}


def tables(rows: Sequence[Row]) -> tuple[Table, ...]:
    """Tables of speed, parts of the time, passes, quality and stability, and updates before the finals."""
    # The display mask does not affect times: one row for each translator is enough.
    timed = [row for row in rows if row["settings"]["mask_k"] == rows[0]["settings"]["mask_k"]]
    is_drafted = any(row["settings"]["draft_model"] is not None for row in rows)
    return (
        tabulated("Speed relative to re-translation (the first row), and where it comes from", timed, _SPEED),
        tabulated(
            "Where an update's time goes: mean milliseconds before a segment's last update, and at it",
            timed,
            _TIMES,
        ),
        tabulated(
            "Passes: tokens that were proposed after the divergence, and the speedup where passes cost "
            "otherwise",
            timed,
            [*_PASSES, *(_DRAFTED if is_drafted else ())],
        ),
        tabulated(
            "Quality of the finals, and normalised erasure of all updates (k: tokens withheld from the "
            "display)",
            rows,
            [_MASKED, *_scored(rows[0]["metrics"]), *_STABILITY],
        ),
        tabulated(
            "Updates before the finals, without a mask: words revised later, and truncated answers",
            timed,
            _PARTIALS,
        ),
    )


def label(row: Row, *, mask: bool) -> str:
    """A row's method, its bias, and the settings in which it differs from the product's defaults.

    The display's mask is included only with ``mask``.
    """
    settings = row["settings"]
    words = [settings["method"]]
    for key, value in settings.items():
        usual = _PLAIN.get(key, getattr(USUAL, key, None))
        is_zero = key == "final_bias" and not value and not settings["bias"]
        if key in ("method", "mask_k") or value is None or value == usual or is_zero:
            continue
        name = _NAMES.get(key, key.replace("_", "-"))
        if isinstance(value, bool):
            words.append(name if value else f"no-{name}")
        else:
            words.append(
                f"{name}={value:g}" if isinstance(value, float) else f"{name}={Path(str(value)).name}"
            )
    return " ".join([*words, f"k={settings['mask_k']}"] if mask else words)


def _metric(heading: str, name: str, digits: int, unit: str = "") -> Column:
    return Column(heading, f"metrics.{name}", digits, unit)


_METHOD, _MASKED = (Column("method", partial(label, mask=mask)) for mask in (False, True))
_SPEED = (
    _METHOD,
    _metric("speedup", "speedup", 2),
    Column("range", lambda row: "–".join(f"{one:.2f}" for one in row["metrics"]["speedup_range"])),
    _metric("tps ratio", "tps_ratio", 2),
    _metric("tokens/s", "tokens_per_second", 1),
    _metric("ms/update p50", "ms_per_update.p50", 0),
    _metric("p95", "ms_per_update.p95", 0),
    _metric("A/D", "accepted_over_drafted", 0, "%"),
    _metric("A/O", "accepted_over_output", 0, "%"),
    _metric("passes/token", "passes_per_token", 2),
)
_TIMES = (
    _METHOD,
    _metric("verify", "ms_of_partial.verify", 1),
    _metric("decode", "ms_of_partial.decode", 1),
    _metric("beside", "ms_of_partial.beside", 1),
    _metric("final: verify", "ms_of_final.verify", 1),
    _metric("decode", "ms_of_final.decode", 1),
    _metric("beside", "ms_of_final.beside", 1),
    _metric("final A/D", "final_accepted_over_drafted", 0, "%"),
    _metric("word delay s", "delay_s", 2),
)
_PASSES = (
    _METHOD,
    _metric("proposed/output", "proposed_over_output", 0, "%"),
    _metric("taken/output", "taken_over_output", 0, "%"),
    Column("tokens/pass", lambda row: 1 / max(1e-9, row["metrics"]["passes_per_token"]), 2),
    _metric("passes/token", "passes_per_token", 3),
    _metric("every pass the same", "passes_saved", 2),
    _metric("1 + n/100", "speedup_simulated", 2),
)


def _drafted(heading: str, name: str, digits: int, unit: str = "") -> Column:
    """A column of rows with a draft model."""
    column = _metric(heading, name, digits, unit)
    return Column(heading, lambda row: "" if row["settings"]["draft_model"] is None else column.cell(row))


_DRAFTED = (
    _drafted("draft model: passes/token", "draft_passes_per_token", 2),
    _drafted("of the time", "draft_time_share", 0, "%"),
)
_STABILITY = (
    _metric("chrF to RT", "chrf_of_baseline", 1),
    _metric("partials", "chrf_of_baseline_partials", 1),
    _metric("NE raw", "ne_raw", 2),
    _metric("shown", "ne_shown", 2),
    _metric("mean NE raw", "ne_raw_mean", 2),
    _metric("shown", "ne_shown_mean", 2),
)
_PARTIALS = (
    _METHOD,
    _metric("chrF to the beginning of the final", "chrf_of_final_prefix", 1),
    _metric("unsupported words", "unsupported", 1, "%"),
    _metric("truncated, of all updates", "cut", 1, "%"),
)


def _scored(metrics: dict[str, Any]) -> list[Column]:
    """The columns of the scores that a benchmark has, by its first row."""
    columns = []
    if metrics["chrf"] is not None:
        columns += [_metric("chrF", "chrf", 1), _metric("p", "chrf_p", 3), _metric("BLEU", "bleu", 1)]
    if metrics["comet"] is not None:
        columns.append(_metric("COMET", "comet", 4))
    if metrics["nats_of_finals"] is not None:
        columns += [_metric("nats", "nats_of_finals", 2), _metric("nats of partials", "nats_of_partials", 2)]
    if metrics["terms"] is not None:
        columns.append(_metric("terms", "terms", 0, "%"))
    return columns


_COLOURS = {"retranslate": GREY, "ssbd": BLUE, "continuous": ORANGE}


def plots(rows: Sequence[Row], caption: str) -> dict[str, str]:
    """The SVG of each plot, by the name of its file, with ``caption`` in small print below it.

    Without SSBD's bias among the rows, there is no plot against it.
    """
    drawn = {"acceptance.svg": _against_acceptance(rows, caption)}
    if any(row["settings"]["method"] == "ssbd" and row["settings"]["bias"] is not None for row in rows):
        drawn["bias.svg"] = _against_bias(rows, caption)
    return drawn


def _against_bias(rows: Sequence[Row], caption: str) -> str:
    """Erasure and quality against the bias, with re-translation as a horizontal line."""
    panels = [_erasure(rows), _quality(rows)]
    for panel in panels:
        panel.number_across(label="bias β")
    return picture(panels, 1120, "erasure and quality against the bias", "bench", caption)


def _erasure(rows: Sequence[Row]) -> Panel:
    masks = sorted({row["settings"]["mask_k"] for row in rows})
    lines = [("whole translation", BLUE, masks[0], "ne_raw")]
    for mask, colour in zip([mask for mask in masks if mask > 0][:2], (ORANGE, GREEN), strict=False):
        lines.append((f"shown, {mask} tokens withheld", colour, mask, "ne_shown"))
    panel = Panel(
        "Normalised erasure (dashed: re-translation)",
        (70, 420),
        _biases(rows),
        up_to((row["metrics"][name] for row in rows for _, _, _, name in lines), 0.1),
    )
    for _, colour, mask, name in lines:
        panel.curve(
            [(row["settings"]["bias"] or 0.0, row["metrics"][name]) for row in sweep(rows, mask)], colour
        )
        base = next(
            row
            for row in rows
            if row["settings"]["method"] == "retranslate" and row["settings"]["mask_k"] == mask
        )
        panel.level(base["metrics"][name], colour)
    panel.legend(((words, colour) for words, colour, _, _ in lines), 890)
    return panel


def _quality(rows: Sequence[Row]) -> Panel:
    swept, place = sweep(rows, rows[0]["settings"]["mask_k"]), (520.0, 870.0)
    if rows[0]["metrics"]["chrf"] is None:
        panel = Panel("Finals: chrF to re-translation's", place, _biases(rows), (0.0, 105.0))
        panel.curve(
            [(row["settings"]["bias"] or 0.0, row["metrics"]["chrf_of_baseline"]) for row in swept], BLUE
        )
        return panel
    scores = [row["metrics"]["chrf"] or 0.0 for row in swept]
    up = _around([*scores, rows[0]["metrics"]["chrf"]], 0.3, least=1.0)
    panel = Panel("Finals: chrF (dashed: re-translation)", place, _biases(rows), up)
    panel.curve(
        [(row["settings"]["bias"] or 0.0, score) for row, score in zip(swept, scores, strict=True)], BLUE
    )
    panel.level(rows[0]["metrics"]["chrf"], BLUE)
    return panel


def _around(values: Sequence[float], share: float, *, least: float) -> tuple[float, float]:
    """A range with some space below and above the values: a share of it, or the least."""
    space = share * (max(values) - min(values)) or least
    return min(values) - space, max(values) + space


def _biases(rows: Sequence[Row]) -> tuple[float, float]:
    return -0.03, 0.03 + max(0.5, *(row["settings"]["bias"] or 0.0 for row in rows))


def sweep(rows: Sequence[Row], mask: int) -> list[Row]:
    """The longest series of SSBD rows that differ only in the bias, in the order of the bias."""
    series: dict[str, list[Row]] = {}
    for row in rows:
        if (
            row["settings"]["method"] == "ssbd"
            and row["settings"]["mask_k"] == mask
            and row["settings"]["bias"] is not None
        ):
            for others in _other_settings(row["settings"]):
                series.setdefault(others, []).append(row)
    longest = max(series.values(), key=len)
    return sorted(longest, key=lambda row: row["settings"]["bias"])


def _other_settings(settings: dict[str, Any]) -> set[str]:
    """All settings except the bias; a final bias equal to it may be a fixed value or follow each row."""
    bias = settings["bias"]
    finals = {settings["final_bias"], "same"} if settings["final_bias"] == bias else {settings["final_bias"]}
    return {str({**settings, "bias": None, "final_bias": final}) for final in finals}


def _against_acceptance(rows: Sequence[Row], caption: str) -> str:
    """Speedup against the share of the output that came from drafts; lines show the range of the repeats."""
    named = {label(row, mask=False): row for row in reversed(rows)}
    runs = [(name, row) for name, row in reversed(named.items())]
    up = _around(
        [
            one
            for _, row in runs
            for one in (*row["metrics"]["speedup_range"], row["metrics"]["speedup"], 1.0)
        ],
        0.1,
        least=0.1,
    )
    panel = Panel("Speedup by wall time", (70, 640), (-3, 103), up)
    panel.number_across(label="A/O: tokens of the output that came from drafts, %")
    panel.level(1.0, GREY)
    for number, (_, row) in enumerate(runs, start=1):
        at, colour = 100 * (row["metrics"]["accepted_over_output"] or 0.0), _colour(row)
        panel.point(at, row["metrics"]["speedup"], row["metrics"]["speedup_range"], colour)
        panel.say(at, row["metrics"]["speedup"], str(number), colour, left=number % 2 == 0)
    names = [(f"{number}  {name}", _colour(row)) for number, (name, row) in enumerate(runs, start=1)]
    panel.legend(names, 670)
    return picture([panel], 1100, "speedup against acceptance", "bench", caption, len(names))


def _colour(row: Row) -> str:
    return _COLOURS.get(row["settings"]["method"], BLUE)
