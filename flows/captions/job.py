"""The captions flow as a pipeline job, run by Bytewax: ``flow`` is what its command line names.

``python -m bytewax.run "flows.captions:flow('surtitle.toml')"``; with ``-w 2`` it has two workers, with
``-r FOLDER -s 1 -b 0`` a job that was killed goes on.
"""

from collections.abc import Iterable
from pathlib import Path

from bytewax.dataflow import Dataflow

import flows.processor  # noqa: F401 - before llama.cpp is loaded
from connectors.messages.log import tell
from flows.captions.graph import build
from flows.captions.outputs import begin_outputs, hold_outputs
from flows.captions.recovery import is_bytewax_cluster, is_bytewax_job, take_bytewax_folder
from flows.captions.runtime import Runtime
from flows.running.dataflow import let_interrupt_set
from flows.settings.loading import begin_settings
from flows.settings.schema import Settings
from operators.errors import SurtitleError


def flow(path: str) -> Dataflow:
    """The dataflow that the settings file ``path`` describes.

    Where Bytewax is given a folder for recovery, it need not be there yet, and belongs to this run.
    """
    settings = begin_settings(Path(path))
    return job(settings, Runtime(settings), reading=[Path(path)])


def job(settings: Settings, runtime: Runtime, reading: Iterable[Path] = ()) -> Dataflow:
    """The dataflow for Bytewax' own runner, which does not come back when it is over."""

    def end() -> None:
        runtime.end()
        runtime.audience.close()
        runtime.watch.close()
        runtime.outputs.close()

    dataflow = build(settings, runtime, end, reading)
    # Processes of a cluster share the files: the one that gets a file's sink takes it.
    if not is_bytewax_cluster():
        hold_outputs(settings.output, runtime.outputs)
    is_resumed = False
    if is_bytewax_job():
        try:
            is_resumed = take_bytewax_folder(settings)
        except SurtitleError:
            runtime.outputs.close()
            raise
        let_interrupt_set(runtime.stop)
    open_watch(runtime)
    runtime.watch.ready()
    where = runtime.audience.open()
    if where:
        tell("web_opened", f"captions at {where}")
    if not is_bytewax_cluster():
        begin_outputs(settings.output, runtime.outputs, is_resumed=is_resumed)
    return dataflow


def open_watch(runtime: Runtime) -> None:
    """Serve metrics and health where that was asked for, and say where. Raises `OutputError`."""
    where = runtime.watch.open()
    if where:
        tell("metrics_opened", f"metrics at {where}", address=where)
