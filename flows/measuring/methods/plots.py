"""The plots of ``surtitle bench``: erasure and quality against the bias, speedup against acceptance."""

from collections.abc import Sequence

from flows.measuring.methods.scores import MethodRow
from flows.measuring.methods.tables import label
from flows.measuring.plot import BLUE, GREEN, GREY, ORANGE, Panel, picture, up_to

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
