"""The benchmark's own tables."""

from collections.abc import Sequence

from flows.bench.plan import USUAL
from flows.bench.row import MethodRow
from flows.pages.table import Table, number, percent
from flows.settings.schema import SPECULATIVE


def tables(rows: Sequence[MethodRow]) -> tuple[Table, ...]:
    """Tables of speed, parts of the time, passes, quality and stability, and updates before the finals.

    The first row is the baseline.
    """
    # The display mask does not affect times: one row for each translator is enough.
    timed = [row for row in rows if row.mask_k == rows[0].mask_k]
    return _speed(timed), _times(timed), _passes(timed), _quality(rows), _partials(timed)


def label(row: MethodRow, *, mask: bool) -> str:
    """A row's method, its bias, and the settings in which it differs from the product's defaults.

    Settings that the method does not use are left out; the display's mask is included only with ``mask``.
    """
    parts = {
        f"β={row.bias or 0:g}": row.bias is not None,
        f"final β={row.final_bias or 0:g}": row.final_bias not in (None, 0.0),
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


def _speed(rows: Sequence[MethodRow]) -> Table:
    return Table(
        "Speed relative to re-translation (the first row), and where it comes from",
        (
            *("method", "speedup", "range", "tps ratio", "tokens/s", "ms/update p50", "p95"),
            *("A/D", "A/O", "passes/token"),
        ),
        tuple(
            (
                label(row, mask=False),
                f"{row.speedup:.2f}",
                f"{row.speedup_range[0]:.2f}–{row.speedup_range[1]:.2f}",
                f"{row.tps_ratio:.2f}",
                f"{row.tokens_per_second:.1f}",
                f"{row.ms_per_update.p50:.0f}",
                f"{row.ms_per_update.p95:.0f}",
                percent(row.accepted_over_drafted),
                percent(row.accepted_over_output),
                f"{row.passes_per_token:.2f}",
            )
            for row in rows
        ),
    )


def _times(rows: Sequence[MethodRow]) -> Table:
    return Table(
        "Where an update's time goes: mean milliseconds before a segment's last update, and at it",
        (
            *("method", "verify", "decode", "beside", "final: verify", "decode", "beside"),
            *("final A/D", "word delay s"),
        ),
        tuple(
            (
                label(row, mask=False),
                *(
                    number(part, 1)
                    for times in (row.ms_of_partial, row.ms_of_final)
                    for part in (times.verify, times.decode, times.beside)
                ),
                percent(row.final_accepted_over_drafted),
                number(row.delay_s, 2),
            )
            for row in rows
        ),
    )


def _passes(rows: Sequence[MethodRow]) -> Table:
    is_drafted = any(row.draft_model is not None for row in rows)
    return Table(
        "Passes: tokens that were proposed after the divergence, and the speedup where passes cost otherwise",
        (
            *("method", "proposed/output", "taken/output", "tokens/pass", "passes/token"),
            *("every pass the same", "1 + n/100"),
            *(("draft model: passes/token", "of the time") if is_drafted else ()),
        ),
        tuple(
            (
                label(row, mask=False),
                percent(row.proposed_over_output),
                percent(row.taken_over_output),
                f"{1 / max(1e-9, row.passes_per_token):.2f}",
                f"{row.passes_per_token:.3f}",
                f"{row.passes_saved:.2f}",
                f"{row.speedup_simulated:.2f}",
                *_drafted_cells(row, is_drafted=is_drafted),
            )
            for row in rows
        ),
    )


def _drafted_cells(row: MethodRow, *, is_drafted: bool) -> tuple[str, ...]:
    if not is_drafted:
        return ()
    if row.draft_model is None:
        return "", ""
    return f"{row.draft_passes_per_token:.2f}", percent(row.draft_time_share)


def _quality(rows: Sequence[MethodRow]) -> Table:
    columns = ["chrF", "p", "BLEU"] if rows[0].chrf is not None else []
    if rows[0].comet is not None:
        columns.append("COMET")
    if rows[0].nats_of_finals is not None:
        columns += ["nats", "nats of partials"]
    if rows[0].terms is not None:
        columns.append("terms")
    return Table(
        "Quality of the finals, and normalised erasure of all updates (k: tokens withheld from the display)",
        ("method", *columns, "chrF to RT", "partials", "NE raw", "shown", "mean NE raw", "shown"),
        tuple(_quality_cells(row, columns) for row in rows),
    )


def _partials(rows: Sequence[MethodRow]) -> Table:
    return Table(
        "Updates before the finals, without a mask: words revised later, and truncated answers",
        ("method", "chrF to the beginning of the final", "unsupported words", "truncated, of all updates"),
        tuple(
            (
                label(row, mask=False),
                number(row.chrf_of_final_prefix, 1),
                percent(row.unsupported, 1),
                percent(row.cut, 1),
            )
            for row in rows
        ),
    )


def _quality_cells(row: MethodRow, columns: Sequence[str]) -> tuple[str, ...]:
    scores = {
        "chrF": number(row.chrf, 1),
        "p": number(row.chrf_p, 3),
        "BLEU": number(row.bleu, 1),
        "terms": percent(row.terms),
        "COMET": number(row.comet, 4),
        "nats": number(row.nats_of_finals, 2),
        "nats of partials": number(row.nats_of_partials, 2),
    }
    return (
        label(row, mask=True),
        *(scores[name] for name in columns),
        f"{row.chrf_of_baseline:.1f}",
        number(row.chrf_of_baseline_partials, 1),
        f"{row.ne_raw:.2f}",
        f"{row.ne_shown:.2f}",
        f"{row.ne_raw_mean:.2f}",
        f"{row.ne_shown_mean:.2f}",
    )
