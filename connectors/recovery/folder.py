"""The folder in which a run remembers how far it came, so that it can be killed and started again.

It holds Bytewax' snapshots, and beside them what the run was asked for: no other run may go on from there.
"""

import fcntl
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec
from bytewax.recovery import RecoveryConfig, init_db_dir

from connectors.files.damage import DAMAGED
from connectors.files.output import WriteError
from connectors.recovery.snapshots import forget_unfinished
from operators.errors import InputError, OutputError, UsageError

#: Version of what is stored, the states of all stages among it; it goes up when one of them changes, and
#: when a position of a source or sink moves to another module, which its pickle names.
SCHEMA = 4

_NAME = "run.json"
# What a store takes for a start, and its journal.
_FIRST_BYTES = 512 * 1024
# What Rust says of an error of SQLite's.
_SQLITE_FAILURE = re.compile(r'SqliteFailure\(Error \{[^}]*\}, Some\("([^"]*)"\)\)')


class _Version(msgspec.Struct, frozen=True):
    """What a folder of any version says of itself."""

    schema: int


class _Identity(_Version, frozen=True):
    """What a folder of this version says of itself."""

    settings: dict[str, Any]


V = TypeVar("V", bound=_Version)


class RecoveryFolder:
    """A folder of one run; in a ``with`` block, which keeps other processes out.

    Args:
        path: The folder; it is made unless it is there.
        settings: All that has to be the same when the run goes on: stages, and in them keys and values.

    Raises:
        UsageError: when the folder belongs to a run that was asked for something else.
        InputError: when it is no such folder, or of another version of surtitle.
        OutputError: when it cannot be written, or another process is using it.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path = path
        self._identity = _Identity(SCHEMA, msgspec.to_builtins(settings))
        #: Whether a run goes on here that broke off, or is over.
        self.is_resumed = path.exists()
        try:
            if not self.is_resumed:
                self._make()
            self._lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            trouble = WriteError(path, error)
            raise OutputError(
                f"{path}: the run cannot be remembered there: {trouble.reason}; {trouble.what_to_do}"
            ) from None
        try:
            self._take()
        except BaseException:
            os.close(self._lock)
            raise

    @property
    def config(self) -> RecoveryConfig:
        """For Bytewax."""
        return RecoveryConfig(self.path)  # type: ignore[no-untyped-call]  # Bytewax leaves it unannotated

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._lock)

    def _make(self) -> None:
        """Make the folder with all that belongs into it, at once: half of it would be nobody's."""
        being_made = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        being_made.mkdir(parents=True)
        try:
            # Bytewax panics, aloud, where SQLite finds no room.
            room = being_made / "room"
            room.write_bytes(bytes(_FIRST_BYTES))
            room.unlink()
            # One store, however many workers: their number may change.
            init_db_dir(being_made, 1)  # type: ignore[no-untyped-call]  # the same
            (being_made / _NAME).write_bytes(msgspec.json.format(msgspec.json.encode(self._identity)))
            being_made.rename(self.path)
        finally:
            shutil.rmtree(being_made, ignore_errors=True)

    def _take(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(f"{self.path}: another process is running from this folder") from None
        schema = self._read(_Version).schema
        if schema != SCHEMA:
            raise InputError(
                f"{self.path} is of another version of surtitle (schema {schema}, not {SCHEMA}): "
                "finish that run with the version that began it, or give another folder"
            )
        there = self._read(_Identity)
        if there != self._identity:
            raise UsageError(
                f"{self.path} belongs to another run ({_difference(there, self._identity)}): "
                "give the same settings to go on with it, or another folder to begin anew"
            )
        forget_unfinished(self.path)

    def _read(self, kind: type[V]) -> V:
        try:
            return msgspec.json.decode((self.path / _NAME).read_bytes(), type=kind)
        except (OSError, *DAMAGED):
            raise InputError(
                f"{self.path} is no folder that a run was remembered in: give another one, or one that is "
                "not there yet"
            ) from None


def store_error(error: BaseException, config: RecoveryConfig) -> OutputError | None:
    """What to tell a user where Bytewax ended a run because it could not store a snapshot; None else."""
    failure = _SQLITE_FAILURE.search(str(error))
    if failure is None:
        return None
    return OutputError(
        f"{config.db_dir}: the run cannot be remembered there any more, {failure[1]}: make room and start "
        "the same command again; it goes on from what was remembered"
    )


def _difference(there: _Identity, here: _Identity) -> str:
    for stage in {**there.settings, **here.settings}:
        one, other = there.settings.get(stage, {}), here.settings.get(stage, {})
        for key in {**one, **other}:
            if one.get(key) != other.get(key):
                return f"{stage}.{key} is {one.get(key)!r} there and {other.get(key)!r} here"
    return "its settings differ"
