"""The tables of ``surtitle bench``."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from flows.measuring.plan import USUAL
from flows.measuring.results import Row
from flows.pages.table import Column, Table, tabulated

# Values that a label omits, besides the defaults.
_PLAIN = {"accept": "bias", "beam": 1}
_MASK = ("mask_k", "mask")
_NAMES = {"bias": "β", "final_bias": "final β"}


def tables(rows: Sequence[Row]) -> tuple[Table, ...]:
    # The display mask does not affect times: one row for each translator is enough.
    first = rows[0]["settings"]
    timed = [row for row in rows if all(row["settings"][key] == first[key] for key in _MASK)]
    is_drafted = any(row["settings"]["draft_model"] is not None for row in rows)
    return (
        tabulated("Speed relative to re-translation (the first row), and where it comes from", timed, _SPEED),
        tabulated(
            "Where an update's time goes: mean milliseconds before a segment's last update, and at it",
            timed,
            _TIMES,
        ),
        tabulated(
            "Passes: tokens that were proposed after the divergence, and the speedup at other costs of "
            "passes",
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
    run = (settings[key] for key in ("to", "model") if key in settings)
    words = [" ".join([*run, settings["method"]])]
    for key, value in settings.items():
        usual = _PLAIN.get(key, getattr(USUAL, key, None))
        is_zero = key == "final_bias" and not value and not settings["bias"]
        if key in ("method", "to", "model", *_MASK) or value is None or value == usual or is_zero:
            continue
        name = _NAMES.get(key, key.replace("_", "-"))
        if isinstance(value, bool):
            words.append(name if value else f"no-{name}")
        else:
            words.append(
                f"{name}={value:g}" if isinstance(value, float) else f"{name}={Path(str(value)).name}"
            )
    rule = f" {settings['mask']}" if settings["mask"] != "steady" else ""
    return " ".join([*words, f"k={settings['mask_k']}{rule}"] if mask else words)


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
    """A column for rows with a draft model."""
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
    """Columns for the scores that the first row has."""
    columns = []
    if metrics["chrf"] is not None:
        columns += [_metric("chrF", "chrf", 1), _metric("p", "chrf_p", 3), _metric("BLEU", "bleu", 1)]
    if metrics["wer"] is not None:
        columns += [_metric("WER %", "wer", 2), _metric("of the recogniser", "wer_of_source", 2)]
    if metrics["comet"] is not None:
        columns.append(_metric("COMET", "comet", 4))
    if metrics["nats_of_finals"] is not None:
        columns += [_metric("nats", "nats_of_finals", 2), _metric("nats of partials", "nats_of_partials", 2)]
    if metrics["terms"] is not None:
        columns.append(_metric("terms", "terms", 0, "%"))
    return columns
