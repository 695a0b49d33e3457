"""A subject is one folder: its command is there without a change of any other file."""

import json
import shutil
import sys
from copy import copy
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import flows.measuring
from flows.measuring.subjects import SUBJECTS, Subject
from tests.program import ROOT


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Subject:
    """The example of the documentation, in a folder of its own."""
    folder = tmp_path / "added" / "words"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    shutil.copy(ROOT / "docs" / "examples" / "own_benchmark.py", folder / "command.py")
    monkeypatch.setattr(flows.measuring, "__path__", [*flows.measuring.__path__, str(folder.parent)])
    fresh = copy(SUBJECTS)
    vars(fresh).pop("_known", None)
    found = dict(fresh)
    for name in ("flows.measuring.words", "flows.measuring.words.command"):
        monkeypatch.delitem(sys.modules, name)
    assert sorted(found) == ["bench", "bench-drafts", "bench-rooms", "bench-speech", "bench-words", "loadgen"]
    return found["bench-words"]


def test_a_folder_in_the_package_is_a_command_with_the_files_and_tables_of_all(
    added: Subject, tmp_path: Path
) -> None:
    (tmp_path / "talk.txt").write_text("It was the best of times\nit was the worst\n")
    app, written = typer.Typer(), tmp_path / "words.json"
    app.command(added.name)(added.command)
    done = CliRunner().invoke(app, [str(tmp_path / "talk.txt"), "--json", str(written)])
    assert done.exit_code == 0, done.output
    results = json.loads(written.read_text())
    assert [row["words"] for row in results["rows"]] == [6, 4]
    assert results["signature"]["corpus"] == "talk.txt"
    assert done.output.splitlines()[0] == "Words"
    assert "corpus  talk.txt" in done.output
