"""The captions flow as a pipeline job, run by Bytewax: ``flow`` is what its command line names.

``python -m bytewax.run "flows.captions:flow('surtitle.toml')"``; with ``-w 2`` it has two workers, with
``-r FOLDER -s 1 -b 0`` a job that was killed goes on.
"""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from threading import Lock

from bytewax.dataflow import Dataflow

import flows.processor  # noqa: F401 - before llama.cpp is loaded
from flows.captions.graph import build
from flows.captions.outputs import begin_outputs, held_outputs
from flows.captions.parts import Parts, make_parts
from flows.captions.recovery import is_bytewax_cluster, is_bytewax_job, take_bytewax_folder
from flows.captions.shared import Shared
from flows.observe.observer import Observe
from flows.running.dataflow import let_interrupt_set
from flows.settings.loading import begin_settings
from flows.settings.schema import Settings
from operators.observed import RunBegan


def flow(path: str) -> Dataflow:
    """The dataflow that the settings file ``path`` describes.

    Where Bytewax is given a folder for recovery, it need not be there yet, and belongs to this run.
    """
    return job(begin_settings(Path(path)), reading=[Path(path)])


def job(
    settings: Settings,
    make_shared: Callable[[Settings, Observe], Shared] = Shared,
    reading: Iterable[Path] = (),
) -> Dataflow:
    """The dataflow for Bytewax' own runner, which does not come back when it is over."""
    closing, lock = ExitStack(), Lock()

    def end() -> None:
        # Each worker says that it is over.
        with lock:
            closing.close()

    parts = make_parts(settings, make_shared, reading=reading)
    dataflow = build(parts, end)
    with ExitStack() as opened:
        _begin(parts, opened)
        closing.enter_context(opened.pop_all())
    return dataflow


def _begin(parts: Parts, opened: ExitStack) -> None:
    """Open what the run needs before its first event."""
    settings, is_resumed = parts.settings, False
    # Processes of a cluster share the files: the one that gets a file's sink takes it.
    if not is_bytewax_cluster():
        opened.enter_context(held_outputs(settings.output, parts.outputs))
    if is_bytewax_job():
        is_resumed = take_bytewax_folder(settings)
        let_interrupt_set(parts.shared.stop)
    opened.enter_context(parts.observers.served())
    parts.observers.observe(RunBegan())
    if not is_bytewax_cluster():
        begin_outputs(settings.output, parts.outputs, is_resumed=is_resumed)
