"""The tables and plots of ``surtitle bench``."""

from collections.abc import Sequence
from functools import partial

from flows.measuring.methods.command import USUAL
from flows.measuring.methods.scores import MethodRow
from flows.pages.drawing import BLUE, GREEN, GREY, ORANGE, Panel, picture, up_to
from flows.pages.table import Column, Table, percent, tabulated
from flows.settings.translate import SPECULATIVE


def tables(rows: Sequence[MethodRow]) -> tuple[Table, ...]:
    """Tables of speed, parts of the time, passes, quality and stability, and updates before the finals.

    The first row is the baseline.
    """
    # The display mask does not affect times: one row for each translator is enough.
    timed = [row for row in rows if row.mask_k == rows[0].mask_k]
    is_drafted = any(row.draft_model is not None for row in rows)
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
            [_MASKED, *_scored(rows[0]), *_STABILITY],
        ),
        tabulated(
            "Updates before the finals, without a mask: words revised later, and truncated answers",
            timed,
            _PARTIALS,
        ),
    )


def label(row: MethodRow, *, mask: bool) -> str:
    """A row's method, its bias, and the settings in which it differs from the product's defaults.

    Settings that the method does not use are left out; the display's mask is included only with ``mask``.
    """
    parts = {
        f"β={row.bias or 0:g}": row.bias is not None,
        f"final β={row.final_bias or 0:g}": row.final_bias is not None and bool(row.bias or row.final_bias),
        f"accept={row.accept}": row.accept not in (None, "bias"),
        f"rerank={row.rerank or 0:g}": row.rerank is not None,
        f"beam={row.beam}": row.beam > 1,
        f"min-block={row.min_block}": row.min_block != USUAL.min_block,
        f"proposal β={row.proposal_bias or 0:g}": row.proposal_bias not in (None, USUAL.proposal_bias),
        f"block={row.block}": row.block != USUAL.block,
        f"sure={row.sure or 0:g}": row.sure not in (None, USUAL.sure),
        f"commit={row.commit}": row.method in SPECULATIVE and row.commit != USUAL.commit,
        f"gap={row.commit_gap:g}": row.commit_gap != USUAL.commit_gap,
        "no-keep": row.method in SPECULATIVE and row.commit > 0 and not row.keep,
        f"draft-mask={row.draft_mask}": row.draft_mask != USUAL.draft_mask,
        "+ draft model": row.draft_model is not None,
        f"length={row.draft_length}": row.draft_length not in (None, USUAL.draft_length),
        f"threshold={row.draft_threshold or 0:g}": row.draft_threshold not in (None, USUAL.draft_threshold),
        "tree": row.draft_tree,
        "drop-revised": row.drop_revised,
        "+ glossary": row.glossary is not None,
        f"dictionary={row.dictionary}": row.dictionary != USUAL.dictionary,
        f"hold-back={row.hold_back}": row.hold_back != USUAL.hold_back,
        "strip-punctuation": row.strip_punctuation,
        f"k={row.mask_k}": mask,
    }
    return " ".join([row.method, *(part for part, is_there in parts.items() if is_there)])


_METHOD, _MASKED = (Column("method", partial(label, mask=mask)) for mask in (False, True))
_SPEED = (
    _METHOD,
    Column("speedup", "speedup", 2),
    Column("range", lambda row: "–".join(f"{one:.2f}" for one in row.speedup_range)),
    Column("tps ratio", "tps_ratio", 2),
    Column("tokens/s", "tokens_per_second", 1),
    Column("ms/update p50", "ms_per_update.p50", 0),
    Column("p95", "ms_per_update.p95", 0),
    Column("A/D", "accepted_over_drafted", 0, "%"),
    Column("A/O", "accepted_over_output", 0, "%"),
    Column("passes/token", "passes_per_token", 2),
)
_TIMES = (
    _METHOD,
    Column("verify", "ms_of_partial.verify", 1),
    Column("decode", "ms_of_partial.decode", 1),
    Column("beside", "ms_of_partial.beside", 1),
    Column("final: verify", "ms_of_final.verify", 1),
    Column("decode", "ms_of_final.decode", 1),
    Column("beside", "ms_of_final.beside", 1),
    Column("final A/D", "final_accepted_over_drafted", 0, "%"),
    Column("word delay s", "delay_s", 2),
)
_PASSES = (
    _METHOD,
    Column("proposed/output", "proposed_over_output", 0, "%"),
    Column("taken/output", "taken_over_output", 0, "%"),
    Column("tokens/pass", lambda row: 1 / max(1e-9, row.passes_per_token), 2),
    Column("passes/token", "passes_per_token", 3),
    Column("every pass the same", "passes_saved", 2),
    Column("1 + n/100", "speedup_simulated", 2),
)


def _if_drafted(row: MethodRow, cell: str) -> str:
    return "" if row.draft_model is None else cell


_DRAFTED = (
    Column("draft model: passes/token", lambda row: _if_drafted(row, f"{row.draft_passes_per_token:.2f}")),
    Column("of the time", lambda row: _if_drafted(row, percent(row.draft_time_share))),
)
_STABILITY = (
    Column("chrF to RT", "chrf_of_baseline", 1),
    Column("partials", "chrf_of_baseline_partials", 1),
    Column("NE raw", "ne_raw", 2),
    Column("shown", "ne_shown", 2),
    Column("mean NE raw", "ne_raw_mean", 2),
    Column("shown", "ne_shown_mean", 2),
)
_PARTIALS = (
    _METHOD,
    Column("chrF to the beginning of the final", "chrf_of_final_prefix", 1),
    Column("unsupported words", "unsupported", 1, "%"),
    Column("truncated, of all updates", "cut", 1, "%"),
)


def _scored(row: MethodRow) -> list[Column]:
    """The columns of the scores that a benchmark has, by its first row."""
    columns = []
    if row.chrf is not None:
        columns += [Column("chrF", "chrf", 1), Column("p", "chrf_p", 3), Column("BLEU", "bleu", 1)]
    if row.comet is not None:
        columns.append(Column("COMET", "comet", 4))
    if row.nats_of_finals is not None:
        columns += [Column("nats", "nats_of_finals", 2), Column("nats of partials", "nats_of_partials", 2)]
    if row.terms is not None:
        columns.append(Column("terms", "terms", 0, "%"))
    return columns


_COLOURS = {"retranslate": GREY, "ssbd": BLUE, "continuous": ORANGE}


def plots(rows: Sequence[MethodRow], caption: str) -> dict[str, str]:
    """The SVG of each plot, by the name of its file, with ``caption`` in small print below it.

    Without SSBD's bias among the rows, there is no plot against it.
    """
    drawn = {"acceptance.svg": _against_acceptance(rows, caption)}
    if any(row.method == "ssbd" and row.bias is not None for row in rows):
        drawn["bias.svg"] = _against_bias(rows, caption)
    return drawn


def _against_bias(rows: Sequence[MethodRow], caption: str) -> str:
    """Erasure and quality against the bias, with re-translation as a horizontal line."""
    panels = [_erasure(rows), _quality(rows)]
    for panel in panels:
        panel.number_across(label="bias β")
    return picture(panels, 1120, "erasure and quality against the bias", "bench", caption)


def _erasure(rows: Sequence[MethodRow]) -> Panel:
    masks = sorted({row.mask_k for row in rows})
    lines = [("whole translation", BLUE, masks[0], "ne_raw")]
    for mask, colour in zip([mask for mask in masks if mask > 0][:2], (ORANGE, GREEN), strict=False):
        lines.append((f"shown, {mask} tokens withheld", colour, mask, "ne_shown"))
    panel = Panel(
        "Normalised erasure (dashed: re-translation)",
        (70, 420),
        _biases(rows),
        up_to((getattr(row, name) for row in rows for _, _, _, name in lines), 0.1),
    )
    for _, colour, mask, name in lines:
        panel.curve([(row.bias or 0.0, getattr(row, name)) for row in sweep(rows, mask)], colour)
        base = next(row for row in rows if row.method == "retranslate" and row.mask_k == mask)
        panel.level(getattr(base, name), colour)
    panel.legend(((words, colour) for words, colour, _, _ in lines), 890)
    return panel


def _quality(rows: Sequence[MethodRow]) -> Panel:
    swept, place = sweep(rows, rows[0].mask_k), (520.0, 870.0)
    if rows[0].chrf is None:
        panel = Panel("Finals: chrF to re-translation's", place, _biases(rows), (0.0, 105.0))
        panel.curve([(row.bias or 0.0, row.chrf_of_baseline) for row in swept], BLUE)
        return panel
    scores = [row.chrf or 0.0 for row in swept]
    up = _around([*scores, rows[0].chrf], 0.3, least=1.0)
    panel = Panel("Finals: chrF (dashed: re-translation)", place, _biases(rows), up)
    panel.curve([(row.bias or 0.0, score) for row, score in zip(swept, scores, strict=True)], BLUE)
    panel.level(rows[0].chrf, BLUE)
    return panel


def _around(values: Sequence[float], share: float, *, least: float) -> tuple[float, float]:
    """A range with some space below and above the values: a share of it, or the least."""
    space = share * (max(values) - min(values)) or least
    return min(values) - space, max(values) + space


def _biases(rows: Sequence[MethodRow]) -> tuple[float, float]:
    return -0.03, 0.03 + max(0.5, *(row.bias or 0.0 for row in rows))


def sweep(rows: Sequence[MethodRow], mask: int) -> list[MethodRow]:
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


def _against_acceptance(rows: Sequence[MethodRow], caption: str) -> str:
    """Speedup against the share of the output that came from drafts; lines show the range of the repeats."""
    named = {label(row, mask=False): row for row in reversed(rows)}
    runs = [(name, row) for name, row in reversed(named.items())]
    up = _around([one for _, row in runs for one in (*row.speedup_range, row.speedup, 1.0)], 0.1, least=0.1)
    panel = Panel("Speedup by wall time", (70, 640), (-3, 103), up)
    panel.number_across(label="A/O: tokens of the output that came from drafts, %")
    panel.level(1.0, GREY)
    for number, (_, row) in enumerate(runs, start=1):
        at, colour = 100 * (row.accepted_over_output or 0.0), _colour(row)
        panel.point(at, row.speedup, row.speedup_range, colour)
        panel.say(at, row.speedup, str(number), colour, left=number % 2 == 0)
    names = [(f"{number}  {name}", _colour(row)) for number, (name, row) in enumerate(runs, start=1)]
    panel.legend(names, 670)
    return picture([panel], 1100, "speedup against acceptance", "bench", caption, len(names))


def _colour(row: MethodRow) -> str:
    return _COLOURS.get(row.method, BLUE)
