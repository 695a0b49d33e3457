"""The folder in which a run stores its progress, so that it can be killed and resumed.

It holds Bytewax's snapshots and the run's settings: a run with other settings cannot resume from it. Bytewax
times snapshots by the wall clock; `reporting_clock_changes` tells when that was set back and none are made.

Before a run resumes, Bytewax's snapshots are cleaned up. Bytewax 0.21.1 resumes at the epoch up to which
everything was done, and reads each key's newest snapshot from before it. A killed run, however, has already
stored snapshots of later epochs, which stay. The resumed run counts its epochs from the resume point. If it
reaches those numbers without storing that key again and is killed, a third run would find a state of the key
that the second run never had. Therefore they are deleted. Keys that are over leave a row without a state
forever; those are deleted, too.
"""

import fcntl
import os
import pickle
import re
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec
from bytewax.recovery import (
    InconsistentPartitionsError,
    MissingPartitionsError,
    NoPartitionsError,
    RecoveryConfig,
    init_db_dir,
)

from connectors.files.contents import DAMAGED
from connectors.files.output import WriteError, unfinished
from connectors.messages import tell
from operators.errors import InputError, OutputError, SurtitleError, UsageError


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


#: Version of the stored data, including the states of all stages. Increase it when older ones can no longer
#: be read (a new last field with a default is no obstacle), and when the position of a source or sink moves
#: to another module, because its pickle names the module.
SCHEMA = 6

_NAME = "run.json"
# Initial size of a store and its journal.
_FIRST_BYTES = 512 * 1024
# How Rust formats an SQLite error.
_SQLITE_FAILURE = re.compile(r'SqliteFailure\(Error \{[^}]*\}, Some\("([^"]*)"\)\)')


class _Version(msgspec.Struct, frozen=True):
    """The part of a folder's identity that every version has."""

    schema: int


class _Identity(_Version, frozen=True):
    """The identity of a folder of this version."""

    settings: dict[str, Any]


V = TypeVar("V", bound=_Version)


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
        #: Whether the folder existed, from a run that was interrupted or has ended.
        self.is_resumed = False
        try:
            self.is_resumed = path.exists()
            if not self.is_resumed:
                self._make()
            self._lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (NotADirectoryError, FileExistsError):
            raise InputError(f"{path} is not a folder: give one for --recovery, or a new name") from None
        except OSError as error:
            trouble = WriteError(path, error)
            raise OutputError(
                f"{path}: snapshots cannot be stored there: {trouble.reason}; {trouble.what_to_do}"
            ) from None
        try:
            self._take()
        except BaseException:
            os.close(self._lock)
            raise

    @property
    def config(self) -> RecoveryConfig:
        """The configuration for Bytewax."""
        return RecoveryConfig(self.path)  # type: ignore[no-untyped-call]  # Bytewax leaves it unannotated

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._lock)

    def _make(self) -> None:
        """Create the folder with all its contents atomically: a half-made one would belong to no run."""
        being_made = unfinished(self.path)
        being_made.mkdir(parents=True)
        try:
            # Bytewax panics, with output, if SQLite has no space.
            room = being_made / "room"
            room.write_bytes(bytes(_FIRST_BYTES))
            room.unlink()
            # One store for any number of workers, because their number may change.
            init_db_dir(being_made, 1)  # type: ignore[no-untyped-call]  # the same
            (being_made / _NAME).write_bytes(msgspec.json.format(msgspec.json.encode(self._identity)))
            being_made.rename(self.path)
        finally:
            shutil.rmtree(being_made, ignore_errors=True)

    def _take(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(
                f"{self.path}: another process is using this folder; wait for it, or give another"
            ) from None
        self._check_owners()
        schema = self._read(_Version).schema
        if schema != SCHEMA:
            raise InputError(
                f"{self.path} was written by another version of surtitle (schema {schema}, not {SCHEMA}): "
                "finish the run with the version that started it, or give another folder"
            )
        there = self._read(_Identity)
        if there != self._identity:
            raise UsageError(
                f"{self.path} belongs to another run ({_difference(there, self._identity)}): "
                "use the same settings to resume it, or another folder to start over"
            )
        forget_unfinished(self.path)

    def _check_owners(self) -> None:
        """Refuse what another user wrote: snapshots are pickles, which can make a process do anything."""
        user, owners = os.geteuid(), {self.path: os.fstat(self._lock).st_uid}
        owners |= {path: path.lstat().st_uid for path in self.path.iterdir()}
        for path, owner in owners.items():
            if owner != user:
                raise InputError(
                    f"{path} belongs to the user {owner}, not to {user}, who runs surtitle: its "
                    "snapshots could make this run do anything; run as that user, or give another folder"
                )

    def _read(self, kind: type[V]) -> V:
        try:
            return msgspec.json.decode((self.path / _NAME).read_bytes(), type=kind)
        except (OSError, *DAMAGED):
            raise InputError(
                f"{self.path} is not a recovery folder: give another one, or one that does not exist yet"
            ) from None


# What reading damaged snapshots raises: they lack a part, contradict each other, or were overwritten.
_DAMAGED_STORE = (
    InconsistentPartitionsError, MissingPartitionsError, NoPartitionsError, pickle.UnpicklingError, EOFError
)  # fmt: skip


def store_error(error: BaseException, config: RecoveryConfig) -> SurtitleError | None:
    """The error to report if Bytewax ended a run because of its snapshots on disk; otherwise None."""
    if isinstance(error, _DAMAGED_STORE):
        return InputError(
            f"{config.db_dir}: its snapshots are damaged or incomplete: give another folder to start over"
        )
    failure = _SQLITE_FAILURE.search(str(error))
    if failure is None:
        return None
    return OutputError(
        f"{config.db_dir}: snapshots can no longer be stored there, {failure[1]}: free space and start "
        "the same command again; it resumes from the last snapshot"
    )


def _difference(there: _Identity, here: _Identity) -> str:
    for stage in {**there.settings, **here.settings}:
        one, other = there.settings.get(stage, {}), here.settings.get(stage, {})
        for key in {**one, **other}:
            if one.get(key) != other.get(key):
                return f"{stage}.{key} is {one.get(key)!r} there and {other.get(key)!r} here"
    return "its settings differ"


#: Seconds between two checks of the clock.
_CHECK_INTERVAL_S = 1.0
#: Smaller changes are ignored: clocks are adjusted by milliseconds all the time.
_MIN_CHANGE_S = 2.0


class SnapshotClock:
    """Determines how long Bytewax makes no snapshot.

    Args:
        wall: Seconds on the wall clock, which may be set.
        steady: Seconds on a monotonic clock.
    """

    def __init__(
        self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic
    ) -> None:
        self._wall, self._steady = wall, steady
        #: Wall-clock time from which snapshots are made again.
        self.until = wall()
        self._ahead = wall() - steady()
        self._is_reported = False

    def check(self) -> float | None:
        """Seconds without snapshots, if that has just changed (0 when there are some again); else None."""
        wall, ahead = self._wall(), self._wall() - self._steady()
        if ahead < self._ahead - _MIN_CHANGE_S:
            # Bytewax waits for a time that it has recorded before the change.
            self.until = max(self.until, self._ahead + self._steady())
            self._ahead, self._is_reported = ahead, True
            return self.until - wall
        self._ahead = ahead
        if self._is_reported and wall >= self.until:
            self._is_reported = False
            return 0.0
        return None


@contextmanager
def reporting_clock_changes(folder: Path) -> Iterator[None]:
    """Meanwhile, tell the user when nothing can be stored in a folder, and when that works again."""
    clock, is_over = SnapshotClock(), threading.Event()

    def watch() -> None:
        while not is_over.wait(_CHECK_INTERVAL_S):
            seconds = clock.check()
            if seconds:
                tell(
                    "clock_set_back",
                    f"the clock was set back: for {seconds:.0f} s no snapshot is stored in {folder}; "
                    "to store one now, end the run with Ctrl-C or SIGTERM and start it again",
                    seconds=round(seconds),
                )
            elif seconds is not None:
                tell("clock_caught_up", f"snapshots are stored in {folder} again")

    thread = threading.Thread(target=watch, name="clock", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
