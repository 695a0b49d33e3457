"""Runs the captions flow for a command of the command line, and closes with its summary."""

import logging
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from importlib.metadata import version
from pathlib import Path

from bytewax.dataflow import Dataflow

from connectors.jsonl.reading import validate
from connectors.jsonl.source import JsonlSource
from connectors.messages.log import shown_on, tell
from connectors.terminal.screen import Screen, is_gone
from connectors.view.status import Status
from flows.captions.graph import INPUTS, build
from flows.captions.job import open_watch
from flows.captions.outputs import begin_outputs, held_outputs
from flows.captions.recovery import recovery
from flows.captions.runtime import Runtime
from flows.captions.summary import figures, print_profile, print_summary, write_summary
from flows.engine.recognition import check_recognizer
from flows.running.dataflow import Recovery, interrupt_sets, run
from flows.running.waiting import Waiting
from flows.settings.schema import Settings
from operators.errors import InputError, OutputError, SurtitleError
from operators.events import Caption, Event, Partial, Translation
from operators.metrics.quantiles import Quantiles
from operators.text_layout import cleaned

#: The events that can stand in for the stages before them, and the input that each of them is.
REPLAYED: dict[type[Event], str] = {Partial: "partials", Translation: "translations", Caption: "captions"}


def caption(settings: Settings, *, quiet: bool, profile: bool, settings_file: Path | None) -> None:
    """Run the captions flow, and close with its summary; ``settings_file`` is where the settings are from."""
    is_silent = quiet or settings.messages.format == "json"
    with ExitStack() as end, Waiting(quiet=is_silent, captions=settings.output.terminal) as waiting:
        runtime = Runtime(settings, waiting.doing, waiting.at_position)
        with closing(runtime.watch), closing(runtime.audience):
            dataflow, where = _prepare(settings, runtime, waiting, settings_file)
            if profile:
                runtime.overheads_s = Quantiles()
            # Also what comes after the flow ends well when it is interrupted, to the last viewer.
            end.enter_context(interrupt_sets(runtime.stop))
            # Only a run that can begin leaves them behind: another try may be asked for something else.
            with held_outputs(settings.output, runtime.outputs), recovery(settings) as how:
                is_resumed = how is not None and how.is_resumed
                begin_outputs(settings.output, runtime.outputs, is_resumed=is_resumed)
                _tell_begin(settings, is_resumed=is_resumed)
                runtime.watch.ready()
                with runtime.screen, shown_on(runtime.screen.tell):
                    _run(dataflow, runtime, how, settings.workers)
            _sum_up(settings, runtime, quiet=quiet)
            if where and settings.input.microphone is None:
                _stay(runtime)
        _complain(settings, runtime)


def _prepare(
    settings: Settings, runtime: Runtime, waiting: Waiting, settings_file: Path | None
) -> tuple[Dataflow, str | None]:
    """All that can fail before there is a caption: the flow, and where a browser can read what it says."""
    if settings.output.terminal:
        runtime.at_position = _told_on(runtime.screen, waiting.at_position)
    dataflow = build(settings, runtime, reading=[settings_file] if settings_file else [])
    _check(settings)
    open_watch(runtime)
    where = runtime.audience.open()
    if where:
        tell("web_opened", f"captions at {where}")
    if not settings.input.translations and not settings.input.captions:
        runtime.translator()
    # A line that went on moving would get in between the captions.
    waiting.end()
    return dataflow, where


def _tell_begin(settings: Settings, *, is_resumed: bool) -> None:
    given = next(name for name in INPUTS if getattr(settings.input, name))
    spoken, written = settings.translate.source, settings.translate.target
    tell(
        "run_started", f"captions from {given}, {spoken} to {written}", level=logging.INFO,
        version=version("surtitle"), input=given, source=getattr(settings.input, given),
        resumed=is_resumed,
    )  # fmt: skip


def _run(dataflow: Dataflow, runtime: Runtime, how: Recovery | None, workers: int) -> None:
    try:
        run(dataflow, runtime.stop, runtime.release, how, workers)
    except SurtitleError:
        # There will be no summary to say it.
        for missing in runtime.outputs.missing():
            tell("records_missing", str(missing))
        raise


def _sum_up(settings: Settings, runtime: Runtime, *, quiet: bool) -> None:
    # What was counted before a run was killed is in the log alone.
    summary = runtime.summary(settings.output.log if settings.recovery.folder else None)
    if settings.output.summary:
        try:
            write_summary(summary, Path(settings.output.summary))
        except OutputError as error:
            runtime.unwritten.append(str(error))
    tell("run_ended", "the run is over", level=logging.INFO, **figures(summary))
    if not quiet:
        try:
            print_summary(summary, settings.output.log)
        except OSError as error:
            if not is_gone(sys.stdout, error):
                runtime.unwritten.append(
                    f"the summary cannot be written to standard output: {error.strerror}"
                )
    if runtime.overheads_s is not None:
        print_profile(runtime.overheads_s, summary)


def _stay(runtime: Runtime) -> None:
    """Let browsers read what there was, until Ctrl-C; at once when that is how the captions ended."""
    if not runtime.stop.is_set():
        tell("captions_stay", f"that was all; the captions stay until Ctrl-C at {runtime.audience.address}")
        runtime.stop.wait()


def _told_on(screen: Screen, at_position: Callable[[float, float], None]) -> Callable[[float, float], None]:
    def at(position_s: float, duration_s: float) -> None:
        at_position(position_s, duration_s)
        screen.status(
            Status(state="translating the recording", elapsed_s=position_s, duration_s=duration_s or None)
        )

    return at


def _complain(settings: Settings, runtime: Runtime) -> None:
    """End with what could not be written, and what was wrong with an input that was used all the same."""
    complaints = list(runtime.complaints)
    if broken := runtime.model.complaint():
        complaints.append(broken)
    if runtime.door is not None and (refused := runtime.door.complaint()):
        complaints.append(refused)
    source = runtime.source
    if isinstance(source, JsonlSource) and source.rejected:
        lines = "1 line was" if source.rejected == 1 else f"{source.rejected} lines were"
        aside = f"put aside in {source.rejected_path}"
        if source.not_kept:
            aside += f", but for {source.not_kept} that could not be written there"
        complaints.append(f"{lines} not valid and {aside}; the others were used")
    missing = [cleaned(str(one)) for one in runtime.outputs.missing()]
    if missing and settings.recovery.folder:
        missing.append("make room and start the same command again: what is still kept is written then")
    if missing or runtime.unwritten:
        raise OutputError("; ".join([*missing, *runtime.unwritten, *complaints]))
    if complaints:
        raise InputError("; ".join(complaints))


def _check(settings: Settings) -> None:
    """Look at all that was handed in before a model is loaded; the source itself checks a recording."""
    given = settings.input
    if given.audio or given.microphone:
        check_recognizer(settings.recognize, is_live=settings.is_live)
    for event_type, name in REPLAYED.items():
        path = getattr(given, name)
        if path and not given.skip_bad:
            validate(Path(path), event_type)
