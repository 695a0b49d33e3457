"""A run that broke off finds its results again, and one that could not begin leaves nothing behind."""

from pathlib import Path

from connectors.scoring import Journal


def test_a_run_that_could_not_begin_leaves_no_journal_behind(tmp_path: Path) -> None:
    with Journal(tmp_path / "state", int):
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_was_appended_is_there_for_the_next_run(tmp_path: Path) -> None:
    path = tmp_path / "state"
    with Journal(path, int) as journal:
        journal.append(1)
    path.write_bytes(path.read_bytes() + b"2")
    for _ in range(2):
        with Journal(path, int) as journal:
            assert journal.results == [1]
