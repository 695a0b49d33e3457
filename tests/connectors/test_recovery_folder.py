"""The folder of a run, and what must not be found in it again."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from bytewax.recovery import init_db_dir

from connectors.recovery import SCHEMA, RecoveryFolder, forget_unfinished
from operators.errors import InputError, OutputError

SETTINGS = {"translate": {"to": "German"}}


@pytest.mark.parametrize(
    ("workers", "frontiers", "snaps", "left"),
    [
        (1, {0: 5}, {("a", 4): 1, ("a", 5): 1, ("b", 6): 1, ("c", 4): 1}, [("a", 4), ("c", 4)]),
        # A worker that said nothing began where all did.
        (2, {0: 9}, {("a", 1): 1, ("a", 2): 1, ("a", 3): 1}, [("a", 1)]),
        # A key that is over leaves nothing, unless its end was not finished.
        (1, {0: 5}, {("over", 3): 1, ("over", 4): 0, ("open", 4): 1, ("open", 5): 0}, [("open", 4)]),
    ],
)
def test_snapshots_of_epochs_that_were_not_finished_are_forgotten(
    tmp_path: Path, workers: int, frontiers: Any, snaps: Any, left: list[tuple[str, int]]
) -> None:
    init_db_dir(tmp_path, 1)  # type: ignore[no-untyped-call]  # Bytewax leaves it unannotated
    with closing(sqlite3.connect(tmp_path / "part-0.sqlite3")) as db, db:
        db.execute("INSERT INTO exs (ex_num, worker_count, resume_epoch) VALUES (3, ?, 2)", (workers,))
        fronts = "INSERT INTO fronts (ex_num, worker_index, worker_frontier) VALUES (3, ?, ?)"
        db.executemany(fronts, frontiers.items())
        states = [(*place, b"state" if there else None) for place, there in snaps.items()]
        of_step = "INSERT INTO snaps (step_id, state_key, snap_epoch, ser_change) VALUES ('step', ?, ?, ?)"
        db.executemany(of_step, states)
    forget_unfinished(tmp_path)
    with closing(sqlite3.connect(tmp_path / "part-0.sqlite3")) as db:
        rows = db.execute("SELECT state_key, snap_epoch FROM snaps ORDER BY state_key, snap_epoch")
        assert rows.fetchall() == left


def test_a_folder_is_made_whole_used_by_one_and_taken_up_again(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with RecoveryFolder(path, SETTINGS) as folder:
        assert not folder.is_resumed
        with pytest.raises(OutputError, match="another process"):
            RecoveryFolder(path, SETTINGS)
    with RecoveryFolder(path, SETTINGS) as folder:
        assert folder.is_resumed
    assert [one.name for one in tmp_path.iterdir()] == ["run"]


def test_another_version_and_any_other_folder_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with RecoveryFolder(path, SETTINGS):
        pass
    for schema in (1, SCHEMA + 1):
        (path / "run.json").write_text(f'{{"schema": {schema}, "workers": 1}}')
        with pytest.raises(InputError, match=f"surtitle .schema {schema}, not {SCHEMA}.: finish"):
            RecoveryFolder(path, SETTINGS)
    (tmp_path / "other").mkdir()
    with pytest.raises(InputError, match="not a recovery folder"):
        RecoveryFolder(tmp_path / "other", SETTINGS)
    with pytest.raises(OutputError, match="cannot be stored there"):
        RecoveryFolder(Path("/proc/run"), SETTINGS)


def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RecoveryFolder(tmp_path / "run", SETTINGS):
        pass
    us = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: us + 1)
    with pytest.raises(InputError, match="run belongs to another user: give a folder of your own"):
        RecoveryFolder(tmp_path / "run", SETTINGS)
