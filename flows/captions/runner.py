"""Runs the captions flow for a CLI command, and prints its summary at the end."""

import logging
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from threading import Event as Flag
from typing import Any

import msgspec
from bytewax.dataflow import Dataflow

from connectors.files.atomic import write_atomically
from connectors.jsonl.files import validate
from connectors.messages import NOTICE, shown_on, tell
from connectors.terminal import is_gone
from flows.captions.files import begin_outputs, held_outputs, recovery
from flows.captions.graph import build
from flows.captions.inputs import REPLAYED, given_input
from flows.captions.kafka import check_topics
from flows.captions.parts import Parts, make_parts, make_screen
from flows.captions.shared import MakeShared, Shared
from flows.observe.live_status import RecordingProgress
from flows.observe.summary import Profile
from flows.running.dataflow import Process, run
from flows.running.interrupts import interrupt_sets
from flows.running.waiting import Waiting
from flows.settings.schema import Settings
from operators.addresses import shown
from operators.errors import DamagedInputError, InternalError, OutputError, SurtitleError, printable
from operators.metrics.quantiles import Quantiles
from operators.metrics.summary import LatencyParts, Percentiles, Summary
from operators.notifications import RunBegan
from operators.text import cleaned


def write_summary(summary: Summary, path: Path) -> None:
    """Write the summary as one JSON object; raises `OutputError`."""
    write_atomically(path, msgspec.json.format(msgspec.json.encode(summary)) + b"\n")


def print_summary(summary: Summary, complaint: str | None, log: str) -> None:
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
        f"A/O {_percent(summary.accepted_over_output)}, {summary.passes} forward passes"
        if summary.passes
        else None,
        "latency": f"{_latency(summary.latency_ms)} from the recogniser's partial, "
        f"{_latency(summary.latency_from_speech_ms)} from speech"
        + (f" ({summary.unchanged} updates that change no word aside)" if summary.unchanged else ""),
        "languages": _languages(summary),
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


def _languages(summary: Summary) -> str | None:
    """The latency of each of several languages."""
    known = summary.languages_from_speech_ms or {}
    told = [f"{code} {one.p50:.0f}/{one.p95:.0f}" for code, one in sorted(known.items())]
    return f"{', '.join(told)} ms from speech (p50/p95)" if told else None


def _parts(parts: LatencyParts) -> str | None:
    """The known parts of the latency, each with its median and 95th percentile."""
    known = {name: getattr(parts, name) for name in parts.__struct_fields__}
    told = [f"{name} {part.p50:.0f}/{part.p95:.0f}" for name, part in known.items() if part is not None]
    return f"{', '.join(told)} ms (p50/p95)" if told else None


def _sound(summary: Summary) -> str | None:
    told = [
        f"{seconds:.1f} s {what}"
        for seconds, what in ((summary.lost_s, "lost"), (summary.absent_s, "not connected"))
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


def caption(
    settings: Settings,
    *,
    quiet: bool,
    profile: bool,
    settings_file: Path | None,
    sums_up: bool = True,
    make_shared: MakeShared = Shared,
) -> bool:
    """Run the captions flow, and return whether its input came to its end.

    Args:
        quiet: Show no progress, and print no summary.
        settings_file: The file the settings come from.
        sums_up: Whether to print a summary.
        make_shared: Makes what loads the models.
    """
    is_silent = quiet or settings.messages.format == "json"
    with ExitStack() as end, Waiting(quiet=is_silent, captions=settings.output.terminal) as waiting:
        screen, profiled = make_screen(settings), Profile() if profile else None
        shows_progress = RecordingProgress(screen) if settings.output.terminal else None
        parts = make_parts(
            settings,
            make_shared,
            screen=screen,
            observers=[one for one in (waiting, shows_progress, profiled) if one is not None],
            reading=[settings_file] if settings_file else [],
        )
        dataflow = build(parts)
        _check(settings, parts.process)
        with parts.observers.served() as where:
            if settings.translates:
                parts.shared.load()
            if settings.input.rooms:
                # Otherwise one that cannot be made would end the server when the first speaker comes.
                parts.shared.recognizer("").close()
            # A progress line that keeps moving would garble the captions.
            waiting.end()
            # The steps after the flow must also end cleanly on Ctrl-C, until the last viewer is served.
            end.enter_context(interrupt_sets(parts.shared.stop))
            _run(dataflow, parts)
            # The last position need not be the end, and the summary must not be drawn into the line.
            waiting.end()
            is_finished = not parts.shared.stop.is_set()
            unwritten = _sum_up(parts, profiled, quiet=quiet or not sums_up)
            if where and settings.input.microphone is None and not settings.input.rooms:
                _stay(where, parts.shared.stop)
        _complain(parts, unwritten)
    return is_finished


def _tell_begin(settings: Settings, *, is_resumed: bool) -> None:
    given = given_input(settings)
    spoken, *written = settings.translate.source, *settings.translate.targets
    translates = any(one.translates for one in settings.translate.directions)
    languages = f"{spoken} to {', '.join(written)}" if translates else spoken
    tell(
        "run_started", f"captions from {given}, {languages}", level=logging.INFO,
        version=version("surtitle"), input=given, source=_source(settings, given),
        resumed=is_resumed,
    )  # fmt: skip


def _source(settings: Settings, given: str) -> str:
    if given == "audio":
        return ", ".join(map(shown, settings.input.recordings))
    return shown(str(settings.input.kafka.topic if given == "kafka" else getattr(settings.input, given)))


def _run(dataflow: Dataflow, parts: Parts) -> None:
    settings, outputs = parts.settings, parts.outputs
    # Only a run that can begin keeps its files: another try may have other settings.
    with held_outputs(settings, outputs), recovery(settings, parts.process) as how:
        is_resumed = how is not None and how.is_resumed
        begin_outputs(settings, outputs, is_resumed=is_resumed)
        _tell_begin(settings, is_resumed=is_resumed)
        parts.observers.observe(RunBegan())
        with parts.screen, shown_on(parts.screen.notice):
            try:
                run(dataflow, parts.shared.stop, parts.given.close, how, settings.run.workers, parts.process)
            except SurtitleError:
                # There will be no summary to report it.
                for missing in outputs.missing():
                    tell("records_missing", str(missing))
                raise


def _sum_up(parts: Parts, profile: Profile | None, *, quiet: bool) -> list[str]:
    """Write and print the closing summary; return a sentence for each part that cannot be written."""
    settings, unwritten = parts.settings, []
    # After a killed run, only the log has what was counted before.
    # Of a cluster, each process counts what it has translated, and the first one has the log of all.
    is_part = bool(settings.recovery.folder or parts.process.addresses) and parts.process.has_files
    logs = [path for one, path in settings.files() if one.name in ("log", f"log-{one.language}")]
    summary = parts.observers.summary.summary(parts.outputs.missing(), logs if is_part else ())
    if settings.output.summary and parts.process.has_files:
        try:
            write_summary(summary, Path(settings.output.summary))
        except OutputError as error:
            unwritten.append(str(error))
    tell("run_ended", "the run is over", level=logging.INFO, **figures(summary))
    # Of a cluster, another process may have heard or captioned what this one has not.
    complaint = None if parts.process.addresses else parts.observers.heard.complaint(summary.updates)
    if complaint:
        tell("little_captioned", complaint, level=NOTICE if quiet else logging.INFO)
    if not quiet:
        try:
            print_summary(summary, complaint, printable(", ".join(map(str, logs))))
        except OSError as error:
            if not is_gone(sys.stdout, error):
                unwritten.append(f"the summary cannot be written to standard output: {error.strerror}")
    if profile is not None:
        print_profile(profile.overheads_s, summary)
    return unwritten


def _stay(address: str, stop: Flag) -> None:
    """Keep serving browsers until Ctrl-C; return at once if Ctrl-C already ended the captions."""
    if not stop.is_set():
        tell("captions_stay", f"the input has ended; the captions stay until Ctrl-C at {address}")
        stop.wait()


def _complain(parts: Parts, unwritten: Sequence[str]) -> None:
    """Raise errors for output that could not be written, and for defects of an input that was used anyway."""
    complaints = parts.observers.messages.complaints()
    if rejected := parts.given.complaint():
        complaints.append(rejected)
    if parts.admission is not None and (refused := parts.admission.complaint()):
        complaints.append(refused)
    missing = [cleaned(str(one)) for one in parts.outputs.missing()]
    if missing or unwritten:
        raise OutputError("; ".join([*missing, *unwritten, *complaints]))
    if complaints:
        raise DamagedInputError("; ".join(complaints))
    if parts.observers.have_failed:
        raise InternalError(
            "captions continued, but a part of surtitle failed; please report the lines above"
        )


def _check(settings: Settings, process: Process) -> None:
    """Check all inputs before a model is loaded; the source itself checks a recording."""
    given = settings.input
    for event_type, name in REPLAYED.items():
        path = getattr(given, name)
        if path and not given.skip_bad and process.has_files:
            validate(Path(path), event_type)
    check_topics(settings)
