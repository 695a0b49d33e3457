"""Runs the captions flow: from the command line, and as a Bytewax job, for which ``flow`` is the entry point.

``python -m bytewax.run "flows.captions:flow('surtitle.toml')"``; ``-w 2`` adds a second worker, and
``-r FOLDER -s 1 -b 0`` lets a killed job resume.
"""

import logging
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path
from threading import Lock

from bytewax.dataflow import Dataflow

from connectors.files.streams import open_absent_streams
from connectors.jsonl.files import validate
from connectors.messages import log_event, shown_on
from flows.captions.closing import complain, sum_up
from flows.captions.files import begin_outputs, held_outputs, recovery
from flows.captions.graph import build
from flows.captions.inputs import REPLAYED, given_input
from flows.captions.kafka import check_topics
from flows.captions.parts import Parts, make_parts
from flows.captions.resources import MakeResources, RunResources
from flows.observe.summary import Profile
from flows.running.dataflow import Recovery, is_bytewax_job, run
from flows.running.interrupts import interrupt_sets, let_interrupt_set
from flows.running.progress import ProgressLine
from flows.settings.loading import begin_settings
from flows.settings.schema import Settings
from operators.addresses import shown
from operators.errors import SurtitleError
from operators.events import AudioChunk
from operators.notifications import RunBegan


def caption(
    settings: Settings,
    *,
    quiet: bool,
    settings_file: Path | None,
    sums_up: bool = True,
    make_resources: MakeResources = RunResources,
) -> bool:
    """Run the captions flow, and return whether its input came to its end.

    Args:
        quiet: Show no progress, and print no summary.
        sums_up: Whether to print a summary.
    """
    is_silent = quiet or settings.messages.format == "json"
    with ExitStack() as end, ProgressLine(quiet=is_silent, captions=settings.output.terminal) as line:
        profiled = Profile() if settings.run.profile else None
        parts = make_parts(
            settings,
            make_resources,
            observers=[line, *([profiled] if profiled else [])],
            reading=[settings_file] if settings_file else [],
        )
        dataflow = build(parts)
        _check(parts)
        with parts.observers.served() as address:
            end.callback(parts.given.close)
            parts.given.begin()
            parts.resources.load(hears=parts.given.event_type is AudioChunk)
            # A progress line that keeps moving would garble the captions.
            line.end()
            # The steps after the flow must also end cleanly on Ctrl-C, until the last viewer is served.
            end.enter_context(interrupt_sets(parts.resources.stop))
            run_parts(parts, dataflow)
            # The last position may not be the end; the summary must not be drawn into the line.
            line.end()
            is_finished = not parts.resources.stop.is_set()
            unwritten = sum_up(parts, profiled, quiet=quiet or not sums_up)
            has_end = settings.input.microphone is None and not settings.input.rooms
            if address and has_end and is_finished:
                log_event(
                    "captions_stay", f"the input has ended; the captions stay until Ctrl-C at {address}"
                )
                parts.resources.stop.wait()
        complain(parts, unwritten)
    return is_finished


def run_parts(parts: Parts, dataflow: Dataflow) -> None:
    stop, workers = parts.resources.stop, parts.settings.run.workers
    with _begun(parts) as how, parts.screen, shown_on(parts.screen.notice):
        try:
            run(dataflow, stop, parts.given.close, how, workers, parts.process)
        except SurtitleError:
            # There will be no summary to report it.
            for missing in parts.outputs.missing():
                log_event("records_missing", str(missing))
            raise


def flow(path: str) -> Dataflow:
    """The dataflow that the settings file ``path`` describes.

    If Bytewax is given a recovery folder, the folder need not exist yet, and it belongs to this run.
    """
    open_absent_streams()
    return job(begin_settings(Path(path)), reading=[Path(path)])


def job(
    settings: Settings, make_resources: MakeResources = RunResources, reading: Iterable[Path] = ()
) -> Dataflow:
    """The dataflow for Bytewax's own runner, which does not return control at the end of the flow."""
    closing, lock = ExitStack(), Lock()

    def end() -> None:
        # Called by each worker.
        with lock:
            closing.close()

    parts = make_parts(settings, make_resources, reading=reading)
    dataflow = build(parts, end)
    _check(parts)
    with ExitStack() as opened:
        opened.enter_context(parts.observers.served())
        opened.enter_context(_begun(parts))
        if is_bytewax_job():
            let_interrupt_set(parts.resources.stop)
        closing.enter_context(opened.pop_all())
    return dataflow


@contextmanager
def _begun(parts: Parts) -> Iterator[Recovery | None]:
    """Hold the files and recovery folder of a run, and report its start."""
    settings, outputs = parts.settings, parts.outputs
    # Only a run that can begin keeps its files: another try may have other settings.
    with held_outputs(settings, outputs), recovery(settings, parts.process) as how:
        is_resumed = how is not None and how.is_resumed
        begin_outputs(settings, outputs, is_resumed=is_resumed)
        _report_begin(settings, is_resumed=is_resumed)
        parts.observers.observe(RunBegan())
        yield how


def _report_begin(settings: Settings, *, is_resumed: bool) -> None:
    given = given_input(settings)
    sources = {"audio": settings.input.recordings, "kafka": [settings.input.kafka.topic]}
    source = sources.get(given) or [getattr(settings.input, given)]
    translates = any(one.translates for one in settings.translate.directions)
    if is_resumed and settings.happens_once:
        folder = settings.recovery.folder
        log_event("run_resumed", f"continuing the run in {folder}; to begin a new one, name another folder")
    spoken = ", ".join(one.name for one in settings.translate.spoken) or "any language"
    languages = f"{spoken} to {', '.join(settings.translate.targets)}" if translates else spoken
    log_event(
        "run_started", f"captions from {given}, {languages}", level=logging.INFO,
        version=version("surtitle"), input=given, source=", ".join(shown(str(one)) for one in source),
        resumed=is_resumed,
    )  # fmt: skip


def _check(parts: Parts) -> None:
    """Check all inputs before a model is loaded; the source itself checks a recording."""
    given = parts.settings.input
    for event_type, name in REPLAYED.items():
        path = getattr(given, name)
        if path and not given.skip_bad and parts.process.has_files:
            validate(Path(path), event_type)
    check_topics(parts.settings)
