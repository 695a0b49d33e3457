"""The folder in which a run stores its progress, so that it can be killed and resumed.

It holds Bytewax's snapshots and the run's settings: a run with other settings cannot resume from it.

Before a run resumes, Bytewax's snapshots are cleaned up. Bytewax 0.21.1 resumes at the epoch up to which
everything was done, and reads each key's newest snapshot from before it. A killed run, however, has already
stored snapshots of later epochs, which stay. The resumed run counts its epochs from the resume point. If it
reaches those numbers without storing that key again and is killed, a third run would find a state of the key
that the second run never had. Therefore they are deleted. Keys that are over leave a row without a state
forever; those are deleted, too.
"""

import os
import pickle
import shutil
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Self

import msgspec
from bytewax.recovery import InconsistentPartitionsError, RecoveryConfig, init_db_dir

from connectors.files.contents import DAMAGED
from connectors.files.locks import lock
from connectors.files.output import unfinished
from operators.errors import InputError, OutputError, SurtitleError, UsageError


def forget_unfinished(folder: Path) -> None:
    """Delete the snapshots of unfinished epochs, and those of keys that are over.

    Raises:
        InputError: when the store in ``folder`` is not Bytewax's, or damaged.
    """
    path = folder / "part-0.sqlite3"
    try:
        with closing(sqlite3.connect(path)) as store, store:
            last = "SELECT ex_num, worker_count, resume_epoch FROM exs ORDER BY ex_num DESC LIMIT 1"
            for number, workers, began in store.execute(last).fetchall():
                fronts = "SELECT worker_index, worker_frontier FROM fronts WHERE ex_num = ?"
                frontiers = dict(store.execute(fronts, (number,)).fetchall())
                resume = min(frontiers.get(worker, began) for worker in range(workers))
                store.execute("DELETE FROM snaps WHERE snap_epoch >= ?", (resume,))
                # In a query with MAX, SQLite takes the other columns from the row with the maximum.
                store.execute(
                    "DELETE FROM snaps WHERE (step_id, state_key) IN (SELECT step_id, state_key FROM ("
                    "SELECT step_id, state_key, ser_change, MAX(snap_epoch) FROM snaps GROUP BY 1, 2"
                    ") WHERE ser_change IS NULL)"
                )
    except sqlite3.Error as error:
        raise InputError(f"{path} cannot be used, {error}: give another folder to start over") from None


#: Version of the stored data, including the states of all stages. Increase it when older ones can no longer
#: be read (a new last field with a default is compatible), and when the position of a source or sink moves
#: to another module, because its pickle names the module.
SCHEMA = 11

_NAME = "run.json"


class _Identity(msgspec.Struct, frozen=True):
    schema: int
    settings: dict[str, dict[str, Any]] = {}


class RecoveryFolder:
    """The folder of one run; use it in a ``with`` block, which keeps other processes out.

    Args:
        path: The folder; it is created if necessary.
        settings: Everything that must be unchanged when the run resumes: stages, with their keys and values.

    Raises:
        UsageError: when the folder belongs to a run with other settings.
        InputError: when it is not such a folder, or that of another version of surtitle or of another user.
        OutputError: when it cannot be written, or another process is using it.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path = path
        self._identity = _Identity(SCHEMA, msgspec.to_builtins(settings))
        try:
            #: Whether the folder existed, from a run that was interrupted or has ended.
            self.is_resumed = path.exists()
            if not self.is_resumed:
                self._make()
            self._lock = os.open(path / _NAME, os.O_RDONLY)
        except (NotADirectoryError, FileExistsError):
            raise InputError(f"{path} is not a folder: give one for --recovery, or a new name") from None
        except OSError as error:
            if self.is_resumed and isinstance(error, FileNotFoundError):
                raise self._unknown() from None
            raise OutputError(
                f"{path}: snapshots cannot be stored there ({error.strerror}); choose another folder"
            ) from None
        try:
            self._take()
        except BaseException:
            os.close(self._lock)
            raise

    @property
    def config(self) -> RecoveryConfig:
        return RecoveryConfig(self.path)  # type: ignore[no-untyped-call]  # Bytewax leaves it unannotated

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        os.close(self._lock)

    def _make(self) -> None:
        """Create the folder with all its contents atomically: a half-made one would belong to no run."""
        being_made = unfinished(self.path)
        being_made.mkdir(parents=True)
        try:
            # One store for any number of workers, because their number may change.
            init_db_dir(being_made, 1)  # type: ignore[no-untyped-call]  # as in `config`
            (being_made / _NAME).write_bytes(msgspec.json.format(msgspec.json.encode(self._identity)))
            being_made.rename(self.path)
        finally:
            shutil.rmtree(being_made, ignore_errors=True)

    def _take(self) -> None:
        try:
            lock(self._lock)
        except BlockingIOError:
            raise OutputError(
                f"{self.path}: another process is using this folder; wait for it, or give another"
            ) from None
        if sys.platform != "win32" and self.path.stat().st_uid != os.geteuid():
            # Snapshots are pickles, which can make a process do anything.
            raise InputError(f"{self.path} belongs to another user: give a folder of your own")
        try:
            there = msgspec.json.decode((self.path / _NAME).read_bytes(), type=_Identity)
        except (OSError, *DAMAGED):
            raise self._unknown() from None
        if there.schema != SCHEMA:
            raise InputError(
                f"{self.path} was written by another version of surtitle (schema {there.schema}, not "
                f"{SCHEMA}): finish the run with the version that started it, or give another folder"
            )
        if there != self._identity:
            raise UsageError(
                f"{self.path} belongs to another run ({_difference(there, self._identity)}): "
                "use the same settings to resume it, or another folder to start over"
            )
        forget_unfinished(self.path)

    def _unknown(self) -> InputError:
        return InputError(
            f"{self.path} is not a recovery folder: give another one, or one that does not exist yet"
        )


def store_error(error: BaseException, config: RecoveryConfig) -> SurtitleError | None:
    """The error to report if Bytewax ended a run because of its snapshots on disk; otherwise None."""
    if isinstance(error, (InconsistentPartitionsError, pickle.UnpicklingError, EOFError)):
        return InputError(f"{config.db_dir}: its snapshots are damaged: give another folder to start over")
    # How Rust formats an SQLite error.
    if "SqliteFailure" not in str(error):
        return None
    return OutputError(
        f"{config.db_dir}: snapshots can no longer be stored there: free space and start the same command "
        "again; it resumes from the last snapshot"
    )


def _difference(there: _Identity, here: _Identity) -> str:
    for stage, settings in here.settings.items():
        for key, value in settings.items():
            other = there.settings.get(stage, {}).get(key)
            if value != other:
                return f"{stage}.{key} is {other!r} there and {value!r} here"
    return "its settings differ"
