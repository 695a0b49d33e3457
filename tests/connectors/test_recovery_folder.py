"""The folder of a run, and what must not be found in it again."""

import os
import sqlite3
from pathlib import Path

import pytest
from bytewax.recovery import init_db_dir

from connectors.recovery import SCHEMA, RecoveryFolder, forget_unfinished
from operators.errors import InputError, OutputError, UsageError

SETTINGS = {"translate": {"to": "German"}}


def store(
    folder: Path, *, workers: int, frontiers: dict[int, int], snaps: list[tuple[str, int, bool]]
) -> Path:
    """Stores of one execution; ``snaps`` are key, epoch and whether there is a state."""
    init_db_dir(folder, 1)  # type: ignore[no-untyped-call]  # Bytewax leaves it unannotated
    path = folder / "part-0.sqlite3"
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO exs (ex_num, worker_count, resume_epoch) VALUES (3, ?, 2)", (workers,))
        rows = [(3, worker, epoch) for worker, epoch in frontiers.items()]
        db.executemany("INSERT INTO fronts (ex_num, worker_index, worker_frontier) VALUES (?, ?, ?)", rows)
        states = [(key, epoch, b"state" if there else None) for key, epoch, there in snaps]
        db.executemany(
            "INSERT INTO snaps (step_id, state_key, snap_epoch, ser_change) VALUES ('step', ?, ?, ?)", states
        )
    db.close()
    return path


def left(path: Path) -> list[tuple[str, int]]:
    db = sqlite3.connect(path)
    rows = db.execute("SELECT state_key, snap_epoch FROM snaps ORDER BY state_key, snap_epoch").fetchall()
    db.close()
    return rows


def test_snapshots_of_epochs_that_were_not_finished_are_forgotten(tmp_path: Path) -> None:
    snaps = [("a", 4, True), ("a", 5, True), ("b", 6, True), ("c", 4, True)]
    path = store(tmp_path, workers=1, frontiers={0: 5}, snaps=snaps)
    forget_unfinished(tmp_path)
    assert left(path) == [("a", 4), ("c", 4)]


def test_the_slowest_worker_says_what_was_finished_and_one_that_said_nothing_began_where_all_did(
    tmp_path: Path,
) -> None:
    snaps = [("a", 1, True), ("a", 2, True), ("a", 3, True)]
    path = store(tmp_path, workers=2, frontiers={0: 9}, snaps=snaps)
    forget_unfinished(tmp_path)
    assert left(path) == [("a", 1)]


def test_a_key_that_is_over_leaves_nothing_unless_its_end_was_not_finished(tmp_path: Path) -> None:
    snaps = [("over", 3, True), ("over", 4, False), ("open", 4, True), ("open", 5, False)]
    path = store(tmp_path, workers=1, frontiers={0: 5}, snaps=snaps)
    forget_unfinished(tmp_path)
    assert left(path) == [("open", 4)]


def test_a_folder_is_made_whole_used_by_one_and_taken_up_again(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with RecoveryFolder(path, SETTINGS) as folder:
        assert not folder.is_resumed
        with pytest.raises(OutputError, match="another process"):
            RecoveryFolder(path, SETTINGS)
    with RecoveryFolder(path, SETTINGS) as folder:
        assert folder.is_resumed
    assert [one.name for one in tmp_path.iterdir()] == ["run"]


def test_another_run_another_version_and_any_other_folder_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with RecoveryFolder(path, SETTINGS):
        pass
    with pytest.raises(UsageError, match=r"translate\.to is 'German' there and 'French' here"):
        RecoveryFolder(path, {"translate": {"to": "French"}})
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


def test_a_damaged_store_is_one_sentence(tmp_path: Path) -> None:
    with RecoveryFolder(tmp_path / "run", SETTINGS):
        pass
    (tmp_path / "run" / "part-0.sqlite3").write_bytes(b"no database " * 400)
    with pytest.raises(InputError, match="start over"):
        RecoveryFolder(tmp_path / "run", SETTINGS)
