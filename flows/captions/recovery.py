"""Recovery of a run, with surtitle's own runner and with Bytewax'."""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bytewax.recovery import RecoveryConfig

from connectors.recovery import RecoveryFolder
from flows.running.dataflow import Process, Recovery
from flows.settings.schema import Settings
from operators.errors import UsageError
from operators.secret import to_plain


@contextmanager
def recovery(settings: Settings, process: Process) -> Iterator[Recovery | None]:
    """The recovery that the settings ask for; the folder is locked for this process inside the block.

    Of a cluster, the first process has the folder. The others send their snapshots to it, and Bytewax wants
    an empty folder of them.
    """
    if settings.recovery.folder is None:
        yield None
        return
    if not process.has_files:
        with tempfile.TemporaryDirectory(prefix="surtitle-") as empty:
            config = RecoveryConfig(Path(empty))  # type: ignore[no-untyped-call]  # Bytewax leaves it unannotated
            yield Recovery(config, settings.recovery.interval_s, is_resumed=False)
        return
    with RecoveryFolder(Path(settings.recovery.folder), _identity(settings)) as folder:
        yield Recovery(folder.config, settings.recovery.interval_s, folder.is_resumed)


def take_bytewax_folder(settings: Settings) -> bool:
    """Prepare the folder given to ``python -m bytewax.run`` with ``-r``, and lock it for this process.

    Returns whether it holds a run that was interrupted or has ended.

    Bytewax reads the folder once the flow is built, so stale content is deleted here.

    Raises:
        UsageError: if the settings ask for a folder and Bytewax was given none or another one; if a cluster
            of processes was given one.
    """
    program, given = sys.modules["__main__"], bytewax_folder()
    asked = settings.recovery.folder
    if asked is not None and (given is None or given.resolve() != Path(asked).resolve()):
        raise UsageError(
            f"recovery.folder is {asked}, but Bytewax's runner uses only its own options: "
            f"add -r {asked} -s 1 -b 0"
        )
    if given is not None and getattr(program, "addresses", None) is not None:
        raise UsageError(
            f"{given} can be the folder of one process only: leave out -a, or start each process of the "
            "cluster with: surtitle job SETTINGS --addresses … --process …"
        )
    return given is not None and RecoveryFolder(given, _identity(settings)).is_resumed


def bytewax_folder() -> Path | None:
    """The folder given to ``python -m bytewax.run`` with ``-r``."""
    # Bytewax parses its command line before it builds a flow, and keeps the results as module variables.
    folder: Path | None = getattr(sys.modules["__main__"], "recovery_directory", None)
    return folder


def _identity(settings: Settings) -> dict[str, dict[str, Any]]:
    """The settings that must not change when a run resumes; others, such as for display or speed, may."""
    same: dict[str, dict[str, Any]] = to_plain(settings, shown=None)
    del same["recovery"], same["run"], same["web"], same["output"]["terminal"], same["output"]["summary"]
    del same["translate"]["threads"], same["recognize"]["threads"]
    del same["translate"]["rooms"], same["translate"]["memory_mb"]
    # Rooms are not resumed.
    del same["metrics"], same["messages"], same["rooms"], same["output"]["kafka"]
    # Nor do parts matter that are not used, and may not be installed next time.
    used = same["recognize"]["engine"]
    same["recognize"] = {k: v for k, v in same["recognize"].items() if not isinstance(v, dict) or k == used}
    same["output"] = {key: value for key, value in same["output"].items() if value is not None}
    same["output"]["sinks"] = list(same["output"]["sinks"])  # as they are read back
    kafka = same["input"].pop("kafka")
    if kafka["topic"] is not None:
        same["input"] |= {"topic": kafka["topic"], "events": kafka["events"]}
    return same
