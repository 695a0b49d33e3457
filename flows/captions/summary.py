"""Prints and writes the summary at the end of a run."""

import sys
from pathlib import Path
from typing import Any

import msgspec

from connectors.files.atomic import write_whole
from connectors.messages.log import tell
from operators.metrics.quantiles import Quantiles
from operators.metrics.summary import LatencyParts, Percentiles, Summary
from operators.text import cleaned


def write_summary(summary: Summary, path: Path) -> None:
    """Write the summary as one JSON object; raises `OutputError`."""
    write_whole(path, msgspec.json.format(msgspec.json.encode(summary)) + b"\n")


def print_summary(summary: Summary, complaint: str | None, log: str | None) -> None:
    """Print the summary for a person, after the ``complaint`` about what was heard; no figures of nothing."""
    lines = _figures(summary) if summary.updates else {}
    lines |= {
        "overtaken": f"{summary.overtaken} updates by newer ones" if summary.overtaken else None,
        "trouble": ", ".join(f"{name} {count}" for name, count in summary.troubles.items()),
        "sound": _sound(summary),
        "missing": "; ".join(cleaned(str(one)) for one in summary.missing),
        "log": log,
    }
    if complaint:
        print(cleaned(complaint))
    told = {name: text for name, text in lines.items() if text}
    if told:
        print()
    for name, text in told.items():
        print(f"{name:>9}  {text}")
    sys.stdout.flush()


def _figures(summary: Summary) -> dict[str, str | None]:
    erasures = summary.erasures or {summary.signature: summary}
    told = [
        f"NE raw {_number(one.ne_raw)}, shown {_number(one.ne_shown)}  ({signature})"
        for signature, one in erasures.items()
    ]
    return {
        "segments": f"{summary.segments} of {summary.updates} updates",
        "erasure": f"\n{'':>11}".join(told),
        "draft": f"A/D {_percent(summary.accepted_over_drafted)}, "
        f"A/O {_percent(summary.accepted_over_output)}, {summary.passes} forward passes",
        "latency": f"{_latency(summary.latency_ms)} from the recogniser's partial, "
        f"{_latency(summary.latency_from_speech_ms)} from speech",
        "parts": _parts(summary.latency_parts_ms),
    }


def figures(summary: Summary) -> dict[str, Any]:
    """The figures of the summary, for a log message."""
    everything: dict[str, Any] = msgspec.to_builtins(summary)
    for name in ("settings", "signature", "latency_parts_ms"):
        del everything[name]
    return everything


def print_profile(overheads_s: Quantiles, summary: Summary) -> None:
    """Print what an update costs besides the forward passes."""
    if not overheads_s.count or not summary.updates:
        tell("profile_empty", "too few updates to profile")
        return
    everything = 1000 * overheads_s.total / overheads_s.count
    median_s, model = overheads_s.at(0.5)[0], 1000 * summary.model_s / summary.updates
    print(
        f"{'profile':>9}  per update: {1000 * median_s:.2f} ms at the median besides the model's "
        f"forward passes (mean {everything:.2f} ms), forward passes {model:.1f} ms (mean)"
    )


def _parts(parts: LatencyParts) -> str | None:
    """The known parts of the latency, each with its median and 95th percentile."""
    known = {name: getattr(parts, name) for name in parts.__struct_fields__}
    told = [f"{name} {part.p50:.0f}/{part.p95:.0f}" for name, part in known.items() if part is not None]
    return f"{', '.join(told)} ms (p50/p95)" if told else None


def _sound(summary: Summary) -> str | None:
    told = [
        f"{seconds:.1f} s {what}"
        for seconds, what in ((summary.lost_s, "lost"), (summary.absent_s, "without a microphone"))
        if seconds >= 0.05
    ]
    if summary.cut:
        told.append(f"the text of {summary.cut} {'segment' if summary.cut == 1 else 'segments'} cut")
    return ", ".join(told) or None


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def _latency(value: Percentiles | None) -> str:
    return "–" if value is None else f"p50 {value.p50:.0f} ms and p95 {value.p95:.0f} ms"
