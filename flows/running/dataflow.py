"""Runs a flow, in this process alone or in one of a cluster, with a clean end and readable errors."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Event as Flag
from typing import Any, NamedTuple

import bytewax.errors  # noqa: F401 - Bytewax imports it at the first error, which may be that of a full table of files
from bytewax.dataflow import Dataflow
from bytewax.recovery import RecoveryConfig
from bytewax.testing import cluster_main, run_main

from connectors.files.streams import part_stderr
from connectors.recovery import store_error
from flows.running.interrupts import interrupt_sets
from flows.settings.schema import Settings
from operators.errors import ClusterError, SurtitleError, UsageError


class Process(NamedTuple):
    """A process of a cluster, or the only one."""

    #: Addresses of all processes of the cluster; empty for one process alone.
    addresses: tuple[str, ...] = ()
    number: int = 0

    @property
    def has_files(self) -> bool:
        """Whether input and output files and the recovery folder are this process's.

        Bytewax sends every record to the worker that has its file. With all files in one process, the others
        need no disk, and it makes no difference on which machine they are.
        """
        return self.number == 0


#: The only process of a run.
ALONE = Process()


def is_bytewax_job() -> bool:
    return getattr(sys.modules["__main__"].__spec__, "name", None) == "bytewax.run"


def this_process(settings: Settings) -> Process:
    """The process that the settings or the options of Bytewax's own runner describe.

    Raises `UsageError` for contradicting settings.
    """
    addresses, number = settings.run.addresses, settings.run.process
    if is_bytewax_job():
        # Bytewax parses its command line before it builds a flow, and keeps the results as module variables.
        program = sys.modules["__main__"]
        given: str | None = getattr(program, "addresses", None)
        addresses = tuple(given.split(";")) if given else ()
        number = getattr(program, "kwargs", {}).get("process_id") or 0
    if number >= max(1, len(addresses)):
        raise UsageError(
            f"there is no process {number} among {len(addresses)} addresses; "
            "name all processes in run.addresses, and count them from 0 in run.process"
        )
    if len(set(addresses)) < len(addresses):
        raise UsageError("two processes of run.addresses have the same address; give each its own")
    if len(addresses) > 1 and (settings.input.audio or settings.input.microphone):
        raise UsageError(
            "a cluster divides streams of events among its processes, and speech of one stream cannot be "
            "divided; leave out run.addresses"
        )
    return Process(addresses, number)


class Recovery(NamedTuple):
    config: RecoveryConfig
    #: Seconds between two snapshots.
    interval_s: float
    #: Whether the run resumes an earlier one in this folder.
    is_resumed: bool


def run(
    dataflow: Dataflow,
    stop: Flag,
    release: Callable[[], None] = lambda: None,
    recovery: Recovery | None = None,
    workers: int = 1,
    process: Process = ALONE,
) -> None:
    """Run ``dataflow`` to its end. Ctrl-C, SIGTERM and SIGHUP set ``stop``, as in `interrupt_sets`.

    ``workers`` is the number of threads among which the streams are divided. ``release`` is called at the end
    in any case. ``process`` identifies this process in a cluster. Raises the `SurtitleError` that a stage
    raised, without Bytewax's wrappers, and `ClusterError` when another process of the cluster is lost.
    """
    options: dict[str, Any] = {}
    if recovery is not None:
        interval = timedelta(seconds=recovery.interval_s)
        options = {"epoch_interval": interval, "recovery_config": recovery.config}
    addresses = list(process.addresses)
    # While Bytewax waits for the other processes of a cluster, the main thread reacts to no signal. The flow
    # has not begun then, so nothing is lost.
    with interrupt_sets(stop, ends_deaf=bool(addresses)), _no_panic_text():
        try:
            if workers == 1 and not addresses:
                # Not a cluster of one: its waiting thread costs a third of the speed.
                run_main(dataflow, **options)  # type: ignore[no-untyped-call]  # Bytewax leaves it unannotated
            else:
                options["worker_count_per_proc"] = workers
                cluster_main(dataflow, addresses, process.number, **options)  # type: ignore[no-untyped-call]  # as above
        except Exception as error:
            user_error = _cause(error) or (store_error(error, recovery.config) if recovery else None)
            if user_error is not None:
                raise user_error from None
            raise
        except BaseException as error:
            # Bytewax panics when a connection breaks; a panic is no `Exception`, and has no public type.
            if type(error).__name__ != "PanicException" or not addresses:
                raise
            raise ClusterError(
                f"process {process.number} of {len(addresses)} has lost another process of its cluster: "
                "start all of them again; with a recovery folder, they resume from the last snapshot"
            ) from None
        finally:
            release()


@contextmanager
def _no_panic_text() -> Iterator[None]:
    """Discard what native code writes to descriptor 2; Python's stderr still works.

    Rust prints a panic message for any exception of a stage, even one that we report ourselves.
    """
    part_stderr()
    terminal = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    try:
        yield
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)


def _cause(error: BaseException | None) -> SurtitleError | None:
    while error is not None and not isinstance(error, SurtitleError):
        error = error.__cause__
    return error
