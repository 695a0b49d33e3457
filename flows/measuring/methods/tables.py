"""The tables of ``surtitle bench``."""

from collections.abc import Sequence
from functools import partial

from flows.measuring.methods.plan import USUAL
from flows.measuring.methods.scores import MethodRow
from flows.measuring.results import Column, tabulated
from flows.pages.table import Table, percent
from flows.settings.schema import SPECULATIVE


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
