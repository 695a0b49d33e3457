"""Which files a run writes: none that it reads, none twice, none of another run's."""

import json
import os
import socket
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

from connectors.files.watch import OutputWatch
from connectors.jsonl.files import validate
from connectors.sinks.jsonl import JsonlSink
from flows.captions.files import begin_outputs, held_outputs
from flows.captions.runner import flow, job
from flows.settings.loading import load_settings
from flows.settings.schema import Settings
from operators.errors import OutputError
from operators.events import Caption
from tests.program import SURTITLE, completed

CAPTIONS = Path(__file__).parents[2] / "samples" / "captions.jsonl"


def test_a_job_of_bytewax_and_the_command_line_leave_their_settings_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    before = f'translate.to = "German"\n[input]\ncaptions = "{CAPTIONS}"\n[output]\ncaptions = "{path}"\n'
    path.write_text(before)
    with pytest.raises(OutputError, match=r"settings\.toml cannot be written: the same run reads it"):
        flow(str(path))
    done = completed([SURTITLE, "file", "--settings", path])
    assert done.returncode == 4
    assert "settings.toml cannot be written: the same run reads it" in done.stderr
    assert path.read_text() == before


@pytest.mark.parametrize(
    ("name", "redirected"),
    [("/dev/stdout", ">"), ("/dev/stdout", ">>"), ("/dev/stderr", "2>>"), ("/dev/fd/7", "7>>")],
)
def test_whatever_a_run_was_started_with_is_written_as_it_comes(
    tmp_path: Path, name: str, redirected: str
) -> None:
    path = tmp_path / "out"
    path.write_text("old\n")
    run = f'"$@" {redirected} out'
    command = [SURTITLE, "replay", str(CAPTIONS), "--quiet", "--captions", name]
    command += ["--set", f"output.summary={name}"]
    done = subprocess.run(
        ["sh", "-c", run, "sh", *command], cwd=tmp_path, stdout=subprocess.DEVNULL, check=False
    )
    text = path.read_text()
    assert done.returncode == 0, text
    assert "\0" not in text
    assert text.startswith("old\n") == (">>" in redirected)
    assert text.count('{"event":') == validate(CAPTIONS, Caption)
    assert text.count('"signature"') == 1


def written(**files: Path) -> Settings:
    return load_settings(
        None, {"translate": {"to": "German"}, "output": {name: str(path) for name, path in files.items()}}
    )


def test_a_second_run_on_the_same_files_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    settings = written(captions=tmp_path / "captions.jsonl", srt=tmp_path / "a.srt")
    output = settings.output
    watch, other = OutputWatch(print), OutputWatch(print)
    with held_outputs(settings, watch):
        begin_outputs(settings, watch, is_resumed=False)
        Path(output.captions or "").write_text("kept")
        (tmp_path / "b.srt").write_text("kept")
        files = ("--srt", tmp_path / "b.srt", "--captions", output.captions)
        done = completed([SURTITLE, "replay", CAPTIONS, "--quiet", *files])
        assert done.returncode == 4
        busy = "another run is writing to it; give each run its own files"
        assert done.stderr == f"surtitle: {output.captions} cannot be written: {busy}\n"
        assert Path(output.captions or "").read_text() == (tmp_path / "b.srt").read_text() == "kept"
        # Also when a sink has opened it, and after a resume.
        part = JsonlSink(Path(output.captions or ""), watch=watch).build_part("out", "file", None)
        with pytest.raises(OutputError, match="another run is writing to it"), held_outputs(settings, other):
            pass
        part.close()
    with held_outputs(settings, other):
        pass


def test_a_job_that_cannot_be_watched_leaves_nothing_behind(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        raw: dict[str, dict[str, Any]] = {
            "input": {"captions": str(CAPTIONS)},
            "translate": {"to": "German"},
            "output": {"terminal": False, "log": str(tmp_path / "log.jsonl")},
            "metrics": {"listen": taken.getsockname()[1]},
        }
        with pytest.raises(OutputError, match="metrics cannot be served"):
            job(load_settings(None, raw))
    assert list(tmp_path.iterdir()) == []


def test_a_recovery_folder_that_cannot_be_resumed_leaves_no_file_behind(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    done = completed(
        [SURTITLE, "replay", CAPTIONS, "--quiet", "--recovery", "run", "--captions", "captions.jsonl"],
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 3
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("kind", ["null", "pipe", "stdout"])
def test_a_log_that_cannot_be_read_back_still_has_a_summary(tmp_path: Path, kind: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    log = {"null": "/dev/null", "pipe": str(pipe), "stdout": "/dev/stdout"}[kind]
    summary = tmp_path / "summary.json"
    command = [SURTITLE, "replay", str(CAPTIONS), "--quiet", "--recovery", str(tmp_path / "recovery")]
    command += ["--set", f"output.log={log}", "--set", f"output.summary={summary}"]
    with (tmp_path / "out").open("w") as out:
        done = completed(command, stdout=out, timeout=60)
    os.close(reader)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(summary.read_text())["segments"] > 0


@pytest.mark.parametrize(
    "damage",
    ["", "UPDATE snaps SET ser_change = x'8005'", "UPDATE snaps SET ser_change = x'80049500'"],
    ids=["gone", "cut", "overwritten"],
)
def test_snapshots_that_are_damaged_are_answered_in_a_sentence(tmp_path: Path, damage: str) -> None:
    captions = tmp_path / "captions.jsonl"
    command = [SURTITLE, "replay", str(CAPTIONS), "--quiet", "--captions", str(captions)]
    command += ["--recovery", str(tmp_path / "run")]
    assert completed(command).returncode == 0
    before, store = captions.read_bytes(), tmp_path / "run" / "part-0.sqlite3"
    if damage:
        with sqlite3.connect(store) as opened:
            opened.execute(damage)
        opened.close()
    else:
        store.unlink()
    done = completed(command)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert done.stderr.startswith(f"surtitle: {tmp_path}/run")
    assert done.stderr.endswith(": give another folder to start over\n")
    assert captions.read_bytes() == before


def test_a_run_resumes_from_a_folder_that_was_renamed(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    (before / "in.jsonl").write_bytes(CAPTIONS.read_bytes())
    command = [SURTITLE, "replay", "in.jsonl", "--quiet", "--recovery", "recovery", "--captions", "out.jsonl"]
    command += ["--set", "output.log=log.jsonl", "--srt", "out.srt"]
    for folder in (before, after):
        done = completed(command, cwd=folder)
        assert (done.returncode, done.stderr) == (0, "")
        if folder == before:
            before.rename(after)
    assert validate(after / "out.jsonl", Caption) == validate(CAPTIONS, Caption)
