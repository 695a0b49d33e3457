"""The captions flow as a pipeline job, run by Bytewax: ``flow`` is what its command line names.

``python -m bytewax.run "flows.captions:flow('surtitle.toml')"``; with ``-w 2`` it has two workers, with
``-r FOLDER -s 1 -b 0`` a job that was killed goes on.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bytewax.dataflow import Dataflow

import flows.processor  # noqa: F401 - before llama.cpp is loaded
from flows.captions.graph import build
from flows.captions.outputs import begin_outputs, hold_outputs
from flows.captions.recovery import is_bytewax_cluster, is_bytewax_job, take_bytewax_folder
from flows.captions.runtime import Runtime
from flows.running.dataflow import let_interrupt_set
from flows.settings.loading import begin_settings
from flows.settings.schema import Settings
from operators.errors import SurtitleError
from operators.observed import RunBegan


def flow(path: str) -> Dataflow:
    """The dataflow that the settings file ``path`` describes.

    Where Bytewax is given a folder for recovery, it need not be there yet, and belongs to this run.
    """
    settings = begin_settings(Path(path))
    return job(settings, Runtime(settings), reading=[Path(path)])


def job(settings: Settings, runtime: Runtime, reading: Iterable[Path] = ()) -> Dataflow:
    """The dataflow for Bytewax' own runner, which does not come back when it is over."""
    serving = ExitStack()

    def end() -> None:
        runtime.end()
        serving.close()
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
    serving.enter_context(served(runtime))
    runtime.observers.observe(RunBegan())
    if not is_bytewax_cluster():
        begin_outputs(settings.output, runtime.outputs, is_resumed=is_resumed)
    return dataflow


@contextmanager
def served(runtime: Runtime) -> Iterator[str | None]:
    """Serve metrics and captions meanwhile, where that was asked for; where captions can be read.

    Raises:
        OutputError: when an address cannot be listened on.
    """
    with ExitStack() as serving:
        if runtime.watch is not None:
            serving.enter_context(runtime.watch.served())
        yield serving.enter_context(runtime.audience.served()) if runtime.audience else None
