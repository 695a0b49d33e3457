"""Which process of a cluster this one is: the first one has the files, all of them translate."""

import sys
from typing import NamedTuple

from flows.settings.schema import Settings
from operators.errors import UsageError


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
    """Whether this process is ``python -m bytewax.run``."""
    return getattr(sys.modules["__main__"].__spec__, "name", None) == "bytewax.run"


def this_process(settings: Settings) -> Process:
    """The process that the settings describe, or the options of Bytewax's own runner.

    Raises:
        UsageError: when the settings do not fit together.
    """
    if is_bytewax_job():
        # Bytewax parses its command line before it builds a flow, and keeps the results as module variables.
        program = sys.modules["__main__"]
        addresses: str | None = getattr(program, "addresses", None)
        number: int | None = getattr(program, "kwargs", {}).get("process_id")
        process = Process(tuple(addresses.split(";")) if addresses else (), number or 0)
    else:
        process = Process(settings.run.addresses, settings.run.process)
    _check(process, settings)
    return process


def _check(process: Process, settings: Settings) -> None:
    addresses = process.addresses
    if process.number >= max(1, len(addresses)):
        raise UsageError(
            f"there is no process {process.number} among {len(addresses)} addresses; "
            "name all processes in run.addresses, and count them from 0 in run.process"
        )
    if len(set(addresses)) < len(addresses):
        raise UsageError("two processes of run.addresses have the same address; give each its own")
    if len(addresses) > 1 and (settings.input.audio or settings.input.microphone):
        raise UsageError(
            "a cluster divides streams of events among its processes, and speech of one stream cannot be "
            "divided; leave out run.addresses"
        )
