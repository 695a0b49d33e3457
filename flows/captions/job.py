"""The captions flow as a Bytewax job: ``flow`` is the entry point for Bytewax's command line.

``python -m bytewax.run "flows.captions:flow('surtitle.toml')"``; ``-w 2`` adds a second worker, and
``-r FOLDER -s 1 -b 0`` lets a killed job resume.
"""

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from threading import Lock

from bytewax.dataflow import Dataflow

from connectors.files.streams import open_absent_streams
from flows.captions.files import begin_outputs, held_outputs, take_bytewax_folder
from flows.captions.graph import build
from flows.captions.kafka import check_topics
from flows.captions.parts import Parts, make_parts
from flows.captions.shared import MakeShared, Shared
from flows.running.dataflow import is_bytewax_job
from flows.running.interrupts import let_interrupt_set
from flows.settings.loading import begin_settings
from flows.settings.schema import Settings
from operators.notifications import RunBegan


def flow(path: str) -> Dataflow:
    """The dataflow that the settings file ``path`` describes.

    If Bytewax is given a recovery folder, the folder need not exist yet, and it belongs to this run.
    """
    open_absent_streams()
    return job(begin_settings(Path(path)), reading=[Path(path)])


def job(settings: Settings, make_shared: MakeShared = Shared, reading: Iterable[Path] = ()) -> Dataflow:
    """The dataflow for Bytewax's own runner, which does not return control at the end of the flow."""
    closing, lock = ExitStack(), Lock()

    def end() -> None:
        # Called by each worker.
        with lock:
            closing.close()

    parts = make_parts(settings, make_shared, reading=reading)
    dataflow = build(parts, end)
    check_topics(settings)
    with ExitStack() as opened:
        _begin(parts, opened)
        closing.enter_context(opened.pop_all())
    return dataflow


def _begin(parts: Parts, opened: ExitStack) -> None:
    """Open everything that the run needs before its first event."""
    settings, is_resumed = parts.settings, False
    opened.enter_context(held_outputs(settings, parts.outputs))
    if is_bytewax_job():
        is_resumed = take_bytewax_folder(settings)
        let_interrupt_set(parts.shared.stop)
    opened.enter_context(parts.observers.served())
    parts.observers.observe(RunBegan())
    begin_outputs(settings, parts.outputs, is_resumed=is_resumed)
