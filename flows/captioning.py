"""Runs the captions flow for a command of the command line, and closes with its summary."""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
from bytewax.dataflow import Dataflow

from connectors.jsonl import JsonlSource, validate
from connectors.output_file import check_writable
from connectors.recovery_folder import RecoveryFolder
from connectors.screen import Screen
from connectors.status_line import Status
from flows.captions import build
from flows.outputs import begin_outputs
from flows.recognition import check_recognizer
from flows.report import print_profile, print_summary, write_summary
from flows.run import Recovery, interrupt_sets, run
from flows.runtime import Runtime
from flows.settings import Settings
from flows.waiting import Waiting
from operators.errors import InputError
from operators.events import Caption, Event, Partial, Translation

#: The events that can stand in for the stages before them, and the input that each of them is.
REPLAYED: dict[type[Event], str] = {Partial: "partials", Translation: "translations", Caption: "captions"}


def caption(settings: Settings, *, quiet: bool, profile: bool) -> None:
    """Run the captions flow, and close with its summary."""
    with Waiting(quiet=quiet, captions=settings.output.terminal) as waiting:
        runtime = Runtime(settings, waiting.doing, waiting.at_position)
        with closing(runtime.audience):
            dataflow, where = _prepare(settings, runtime, waiting)
            if profile:
                runtime.overheads_s = []
            # Only a run that can begin leaves a folder behind: another try may be asked for something else.
            # Also what comes after the flow ends well when it is interrupted.
            with recovery(settings) as how, interrupt_sets(runtime.stop):
                if how is None or not how.is_resumed:
                    begin_outputs(settings.output)
                with runtime.screen:
                    run(dataflow, runtime.stop, runtime.release, how)
                _sum_up(settings, runtime, quiet=quiet)
                if where and settings.input.microphone is None:
                    _stay(where, runtime)
    _complain(runtime)


def _prepare(settings: Settings, runtime: Runtime, waiting: Waiting) -> tuple[Dataflow, str | None]:
    """All that can fail before there is a caption: the flow, and where a browser can read what it says."""
    if settings.output.terminal:
        runtime.at_position = _told_on(runtime.screen, waiting.at_position)
    dataflow = build(settings, runtime)
    _check(settings)
    where = runtime.audience.open()
    if where:
        _say(f"captions at {where}")
    if not settings.input.translations and not settings.input.captions:
        runtime.translator()
    # A line that went on moving would get in between the captions.
    waiting.end()
    return dataflow, where


def _sum_up(settings: Settings, runtime: Runtime, *, quiet: bool) -> None:
    # What was counted before a run was killed is in the log alone.
    summary = runtime.summary(settings.output.log if settings.recovery.folder else None)
    if settings.output.summary:
        write_summary(summary, Path(settings.output.summary))
    if not quiet:
        print_summary(summary, settings.output.log)
    if runtime.overheads_s is not None:
        print_profile(runtime.overheads_s, summary)


def _stay(where: str, runtime: Runtime) -> None:
    """Let browsers read what there was, until Ctrl-C; at once when that is how the captions ended."""
    if not runtime.stop.is_set():
        _say(f"that was all; the captions stay until Ctrl-C at {where}")
        runtime.stop.wait()


def _say(sentence: str) -> None:
    print(f"surtitle: {sentence}", file=sys.stderr, flush=True)


@contextmanager
def recovery(settings: Settings) -> Iterator[Recovery | None]:
    """How the settings want a run to be remembered; the folder is this process' own meanwhile."""
    if settings.recovery.folder is None:
        yield None
        return
    # Where it runs, how it is shown and how fast do not change what a run is.
    same: dict[str, dict[str, Any]] = msgspec.to_builtins(settings)
    del same["recovery"], same["web"], same["output"]["terminal"], same["output"]["summary"]
    del same["translate"]["threads"]
    with RecoveryFolder(Path(settings.recovery.folder), same) as folder:
        yield Recovery(folder.config, settings.recovery.interval_s, folder.is_resumed)


def _told_on(screen: Screen, at_position: Callable[[float, float], None]) -> Callable[[float, float], None]:
    def at(position_s: float, duration_s: float) -> None:
        at_position(position_s, duration_s)
        screen.status(
            Status(state="translating the recording", elapsed_s=position_s, duration_s=duration_s or None)
        )

    return at


def _complain(runtime: Runtime) -> None:
    """End with what was wrong with an input that was used as far as it went."""
    complaints = list(runtime.complaints)
    if broken := runtime.model.complaint():
        complaints.append(broken)
    source = runtime.source
    if isinstance(source, JsonlSource) and source.rejected:
        lines = "1 line was" if source.rejected == 1 else f"{source.rejected} lines were"
        complaints.append(f"{lines} not valid and put aside in {source.rejected_path}; the others were used")
    if complaints:
        raise InputError("; ".join(complaints))


def _check(settings: Settings) -> None:
    """Look at all that was handed in before a model is loaded; the source itself checks a recording."""
    output, given = settings.output, settings.input
    files = (given.audio, given.partials, given.translations, given.captions)
    reading = [Path(path) for path in files if path]
    events = (output.log, output.captions, output.partials, output.translations)
    for path in (*events, output.srt, output.vtt, output.summary):
        if path:
            check_writable(Path(path), reading=reading)
    if given.audio or given.microphone:
        check_recognizer(settings.recognize, is_live=settings.is_live)
    for event_type, name in REPLAYED.items():
        path = getattr(given, name)
        if path and not given.skip_bad:
            validate(Path(path), event_type)
