"""Runs the captions flow for a CLI command, and prints its summary at the end."""

import logging
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from threading import Event as Flag

from bytewax.dataflow import Dataflow

from connectors.jsonl.files import validate
from connectors.messages.log import NOTICE, shown_on, tell
from connectors.terminal.screen import is_gone
from flows.captions.graph import build
from flows.captions.inputs import REPLAYED, given_input
from flows.captions.kafka import check_topics
from flows.captions.outputs import begin_outputs, held_outputs
from flows.captions.parts import Parts, make_parts, make_screen
from flows.captions.recovery import recovery
from flows.captions.shared import Shared
from flows.captions.summary import figures, print_profile, print_summary, write_summary
from flows.observe.profile import Profile
from flows.observe.progress import RecordingProgress
from flows.running.dataflow import run
from flows.running.interrupts import interrupt_sets
from flows.running.process import Process
from flows.running.waiting import Waiting
from flows.settings.schema import Settings
from operators.errors import InputError, InternalError, OutputError, SurtitleError
from operators.observed import RunBegan
from operators.text import cleaned


def caption(settings: Settings, *, quiet: bool, profile: bool, settings_file: Path | None) -> None:
    """Run the captions flow, and print its summary; ``settings_file`` is the file the settings come from."""
    is_silent = quiet or settings.messages.format == "json"
    with ExitStack() as end, Waiting(quiet=is_silent, captions=settings.output.terminal) as waiting:
        screen, profiled = make_screen(settings), Profile() if profile else None
        shows_progress = RecordingProgress(screen) if settings.output.terminal else None
        parts = make_parts(
            settings,
            Shared,
            screen=screen,
            observers=[one for one in (waiting, shows_progress, profiled) if one is not None],
            reading=[settings_file] if settings_file else [],
        )
        dataflow = build(parts)
        _check(settings, parts.process)
        with parts.observers.served() as where:
            if not settings.input.translations and not settings.input.captions:
                parts.shared.load()
            if settings.input.rooms:
                # Otherwise one that cannot be made would end the server when the first speaker comes.
                parts.shared.recognizer("").close()
            # A progress line that keeps moving would garble the captions.
            waiting.end()
            # The steps after the flow must also end cleanly on Ctrl-C, until the last viewer is served.
            end.enter_context(interrupt_sets(parts.shared.stop))
            _run(dataflow, parts)
            unwritten = _sum_up(parts, profiled, quiet=quiet)
            if where and settings.input.microphone is None and not settings.input.rooms:
                _stay(where, parts.shared.stop)
        _complain(parts, unwritten)


def _tell_begin(settings: Settings, *, is_resumed: bool) -> None:
    given = given_input(settings)
    spoken, written = settings.translate.source, settings.translate.target
    tell(
        "run_started", f"captions from {given}, {spoken} to {written}", level=logging.INFO,
        version=version("surtitle"), input=given, source=_source(settings, given),
        resumed=is_resumed,
    )  # fmt: skip


def _source(settings: Settings, given: str) -> str:
    return str(settings.input.kafka.topic if given == "kafka" else getattr(settings.input, given))


def _run(dataflow: Dataflow, parts: Parts) -> None:
    settings, outputs = parts.settings, parts.outputs
    # Only a run that can begin keeps its files: another try may have other settings.
    with held_outputs(settings.output, outputs), recovery(settings, parts.process) as how:
        is_resumed = how is not None and how.is_resumed
        begin_outputs(settings.output, outputs, is_resumed=is_resumed)
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
    log = settings.output.log if is_part else None
    summary = parts.observers.summary.summary(parts.outputs.missing(), log)
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
            print_summary(summary, complaint, settings.output.log)
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
    if parts.door is not None and (refused := parts.door.complaint()):
        complaints.append(refused)
    missing = [cleaned(str(one)) for one in parts.outputs.missing()]
    if missing and parts.settings.recovery.folder:
        missing.append(
            "free space and start the same command again: the records that still wait are then written"
        )
    if missing or unwritten:
        raise OutputError("; ".join([*missing, *unwritten, *complaints]))
    if complaints:
        raise InputError("; ".join(complaints))
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
