"""Cleans up Bytewax's snapshots on disk before a run resumes.

Bytewax 0.21.1 resumes at the epoch up to which everything was done, and reads each key's newest snapshot from
before it. A killed run, however, has already stored snapshots of later epochs, which stay. The resumed run
counts its epochs from the resume point. If it reaches those numbers without storing that key again and is
killed, a third run would find a state of the key that the second run never had. Therefore they are deleted
before a run resumes. Keys that are over leave a row without a state forever; those are deleted, too.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from operators.errors import InputError, OutputError


def forget_unfinished(folder: Path) -> None:
    """Delete the snapshots of unfinished epochs, and those of keys that are over.

    Raises:
        InputError: when the stores in ``folder`` are not Bytewax's, or damaged.
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
            # In a query with MAX, SQLite takes the other columns from the row with the maximum.
            store.execute(
                "DELETE FROM snaps WHERE (step_id, state_key) IN (SELECT step_id, state_key FROM ("
                "SELECT step_id, state_key, ser_change, MAX(snap_epoch) FROM snaps GROUP BY 1, 2"
                ") WHERE ser_change IS NULL)"
            )


# Errors of the disk, not of the store.
_NO_ROOM = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY")


@contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(sqlite3.connect(path)) as store, store:
            yield store
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorname", "").startswith(_NO_ROOM):
            raise OutputError(f"{path} cannot be written, {error}: free space, and start again") from None
        raise InputError(f"{path} cannot be used, {error}: give another folder to start over") from None
