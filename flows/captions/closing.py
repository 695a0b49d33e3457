"""The end of a command-line run: its summary and its errors."""

import logging
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from connectors.files.atomic import write_atomically
from connectors.messages import NOTICE, log_event
from connectors.terminal import is_gone
from flows.captions.parts import Parts
from flows.observe.summary import Profile
from operators.errors import DamagedInputError, InternalError, OutputError, printable
from operators.metrics.summary import Durations, Percentiles, Summary
from operators.text import cleaned


def sum_up(parts: Parts, profile: Profile | None, *, quiet: bool) -> list[str]:
    """Write and print the closing summary; return a sentence for each part that cannot be written."""
    settings, unwritten = parts.settings, []
    # After a killed run, only the log has the earlier counts.
    # In a cluster, each process counts its own updates, and the first one has the log of all.
    is_part = bool(settings.recovery.folder or parts.process.addresses) and parts.process.has_files
    logs = [path for one, path in settings.files() if one.name in ("log", f"log-{one.language}")]
    summary = parts.observers.summary.summary(parts.outputs.missing(), logs if is_part else ())
    if settings.output.summary and parts.process.has_files:
        try:
            write_summary(summary, Path(settings.output.summary))
        except OutputError as error:
            unwritten.append(str(error))
    figures: dict[str, Any] = msgspec.to_builtins(summary)
    for name in ("settings", "signature", "latency_parts_ms"):
        del figures[name]
    log_event("run_ended", "the run is over", level=logging.INFO, **figures)
    # In a cluster, another process may have received the sound or shown the captions.
    complaint = None if parts.process.addresses else parts.observers.heard.complaint(summary.updates)
    if complaint:
        log_event("little_captioned", complaint, level=NOTICE if quiet else logging.INFO)
    if not quiet:
        try:
            is_watched = settings.is_live or not settings.finals_only
            _print(summary, complaint, printable(", ".join(map(str, logs))), is_watched=is_watched)
        except OSError as error:
            if not is_gone(sys.stdout, error):
                unwritten.append(f"the summary cannot be written to standard output: {error.strerror}")
    if profile is not None:
        _print_profile(profile.overheads, summary)
    return unwritten


def complain(parts: Parts, unwritten: Sequence[str]) -> None:
    """Raise errors for output that could not be written, and for defects of an input that was used anyway."""
    refused = None if parts.admission is None else parts.admission.complaint()
    others = [one for one in (parts.given.complaint(), refused) if one]
    complaints = [*parts.observers.messages.complaints(), *others]
    missing = [cleaned(str(one)) for one in parts.outputs.missing()]
    if missing or unwritten:
        raise OutputError("; ".join([*missing, *unwritten, *complaints]))
    if complaints:
        raise DamagedInputError("; ".join(complaints))
    if parts.observers.have_failed:
        raise InternalError(
            "captions continued, but a part of surtitle failed; please report the lines above"
        )


def write_summary(summary: Summary, path: Path) -> None:
    """Raises `OutputError`."""
    write_atomically(path, msgspec.json.format(msgspec.json.encode(summary)) + b"\n")


def _print(summary: Summary, complaint: str | None, log: str, *, is_watched: bool) -> None:
    lines = _figures(summary, is_watched=is_watched) | {
        "skipped": _count(summary.overtaken, "update") + " superseded by newer ones"
        if summary.overtaken
        else "",
        "trouble": ", ".join(f"{name} {count}" for name, count in summary.troubles.items()),
        "sound": _sound(summary),
        "missing": "; ".join(cleaned(str(one)) for one in summary.missing),
        "log": log,
    }
    if complaint:
        print(cleaned(complaint))
    if any(lines.values()):
        print()
    for name, text in lines.items():
        if text:
            print(f"{name:>9}  {text}")
    sys.stdout.flush()


def _figures(summary: Summary, *, is_watched: bool) -> dict[str, str]:
    """What was measured; ``is_watched``: whether captions follow the speech."""
    if not summary.updates:
        return {}
    if not is_watched:
        return {"segments": str(summary.segments)}
    erasures = summary.erasures or {summary.signature: summary}
    erasure = [
        f"NE raw {_number(one.ne_raw)}, shown {_number(one.ne_shown)}  ({signature})"
        for signature, one in erasures.items()
    ]
    accepted = (_percent(summary.accepted_over_drafted), _percent(summary.accepted_over_output))
    languages = sorted((summary.languages_from_speech_ms or {}).items())
    parts = msgspec.structs.asdict(summary.latency_parts_ms)
    return {
        "segments": f"{summary.segments} of {summary.updates} updates",
        "erasure": f"\n{'':>11}".join(erasure),
        "draft": "A/D {}, A/O {}, {} forward passes".format(*accepted, summary.passes)
        if summary.passes
        else "",
        "latency": f"{_latency(summary.latency_ms)} from the recogniser's partial, "
        f"{_latency(summary.latency_from_speech_ms)} from speech"
        + (f" (without {summary.unchanged} updates that change no word)" if summary.unchanged else ""),
        "languages": _pairs(languages, "ms from speech (p50/p95)"),
        "parts": _pairs(((name, part) for name, part in parts.items() if part), "ms (p50/p95)"),
    }


def _pairs(latencies: Iterable[tuple[str, Percentiles]], unit: str) -> str:
    listed = ", ".join(f"{name} {one.p50:.0f}/{one.p95:.0f}" for name, one in latencies)
    return f"{listed} {unit}" if listed else ""


def _sound(summary: Summary) -> str:
    losses = [
        f"{seconds:.1f} s {what}"
        for seconds, what in ((summary.lost_s, "lost"), (summary.absent_s, "not connected"))
        if seconds >= 0.05
    ]
    if summary.cut:
        losses.append(f"the text of {_count(summary.cut, 'segment')} cut")
    return ", ".join(losses)


def _count(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def _latency(value: Percentiles | None) -> str:
    return "–" if value is None else f"p50 {value.p50:.0f} ms and p95 {value.p95:.0f} ms"


def _print_profile(overheads: Durations, summary: Summary) -> None:
    percentiles = overheads.percentiles_ms()
    if percentiles is None or not summary.updates:
        log_event("profile_empty", "too few updates to profile")
        return
    mean_ms, model_ms = 1000 * overheads.total_s / overheads.count, 1000 * summary.model_s / summary.updates
    print(
        f"{'profile':>9}  per update: {percentiles.p50:.2f} ms at the median besides the model's "
        f"forward passes (mean {mean_ms:.2f} ms), forward passes {model_ms:.1f} ms (mean)"
    )
