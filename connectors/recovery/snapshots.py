"""Bytewax' snapshots on disk, and what it leaves in them that must not be found again.

Bytewax 0.21.1 resumes at the epoch up to which everything was done, and reads the newest snapshot of each key
from before it. But a killed run has already stored snapshots of later epochs, and they stay: the run that
goes on counts its epochs from there, reaches those numbers without storing that key again, is killed, and a
third run would find a key's state of a future that never was. So they are deleted before a run goes on. A key
that is over leaves a row without a state, for ever; those go, too.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from operators.errors import InputError, OutputError


def forget_unfinished(folder: Path) -> None:
    """Delete the snapshots of epochs that were not finished, and those of keys that are over.

    Raises:
        InputError: when the stores in ``folder`` are none of Bytewax', or damaged.
    """
    paths = sorted(folder.glob("part-*.sqlite3"))
    executions: dict[int, tuple[int, int]] = {}
    frontiers: dict[tuple[int, int], int] = {}
    for path in paths:
        with _open(path) as store:
            for number, workers, epoch in store.execute("SELECT ex_num, worker_count, resume_epoch FROM exs"):
                executions[number] = (workers, epoch)
            for number, worker, epoch in store.execute(
                "SELECT ex_num, worker_index, worker_frontier FROM fronts"
            ):
                frontiers[number, worker] = epoch
    if not executions:
        return
    last = max(executions)
    workers, began = executions[last]
    resume = min(frontiers.get((last, worker), began) for worker in range(workers))
    for path in paths:
        with _open(path) as store:
            store.execute("DELETE FROM snaps WHERE snap_epoch >= ?", (resume,))
            # Where a query has MAX, SQLite takes the other columns from the row that has it.
            store.execute(
                "DELETE FROM snaps WHERE (step_id, state_key) IN (SELECT step_id, state_key FROM ("
                "SELECT step_id, state_key, ser_change, MAX(snap_epoch) FROM snaps GROUP BY 1, 2"
                ") WHERE ser_change IS NULL)"
            )


# The store is good, and its disk is not.
_NO_ROOM = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY")


@contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(sqlite3.connect(path)) as store, store:
            yield store
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorname", "").startswith(_NO_ROOM):
            raise OutputError(f"{path} cannot be written, {error}: make room, and start again") from None
        raise InputError(f"{path} cannot be used, {error}: give another folder to begin anew") from None
