"""Which files a run writes: none that it reads, none twice, none of another run's."""

import json
import os
import socket
import sqlite3
import subprocess
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from connectors.files.watch import OutputWatch
from connectors.jsonl.files import validate
from connectors.sinks.jsonl import JsonlSink
from flows.captions.files import begin_outputs, held_outputs
from flows.captions.parts import make_parts
from flows.captions.runner import flow, job
from flows.settings.loading import load_settings
from flows.settings.schema import Settings
from operators.errors import OutputError, SurtitleError
from operators.events import Caption
from tests.program import SURTITLE, completed

CAPTIONS = Path(__file__).parents[2] / "samples" / "captions.jsonl"
OUTPUTS = ("log", "captions", "partials", "translations", "srt", "vtt", "summary", "audio")

Link = Callable[[Path, Path], None]


def settings_file(folder: Path, given: dict[str, Any], output: dict[str, Any]) -> Path:
    path = folder / "settings.toml"
    lines = ["[input]", *(f"{key} = {json.dumps(value)}" for key, value in given.items())]
    lines += [
        "[output]",
        "terminal = false",
        *(f"{key} = {json.dumps(value)}" for key, value in output.items()),
    ]
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_two_outputs_that_are_one_file_are_refused(tmp_path: Path, link: Link) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("kept")
    link(other, one)
    for first, second in combinations(OUTPUTS, 2):
        output = {first: str(one), second: str(other)}
        settings = load_settings(None, {"input": {"captions": str(CAPTIONS)}, "output": output})
        with pytest.raises(SurtitleError, match="give each its own file"):
            make_parts(settings)
    assert one.read_text() == "kept"


@pytest.mark.parametrize("output", OUTPUTS)
def test_no_way_in_lets_an_output_be_a_file_that_is_read(tmp_path: Path, output: str) -> None:
    model, speech = tmp_path / "model.gguf", tmp_path / "speech"
    speech.mkdir()
    read = {
        "input": tmp_path / "captions.jsonl", "model": model, "draft": tmp_path / "draft.gguf",
        "template": tmp_path / "template.toml", "speech": speech / "model.ort",
        "settings": tmp_path / "s.toml",
    }  # fmt: skip
    for name, path in read.items():
        path.write_text(f"{name} stays")
        other = tmp_path / f"{name}.link"
        other.symlink_to(path)
        overrides = {
            "input": {"captions": str(read["input"])},
            "translate": {
                "model": str(model),
                "draft_model": str(read["draft"]),
                "template": str(read["template"]),
            },
            "recognize": {"model": str(speech)},
            "output": {output: str(other)},
        }
        settings = load_settings(None, overrides)
        with pytest.raises(OutputError, match="the same run reads it"):
            make_parts(settings, reading=[read["settings"]])
        assert path.read_text() == f"{name} stays"


def test_a_job_of_bytewax_and_the_command_line_leave_their_settings_as_they_are(tmp_path: Path) -> None:
    path = settings_file(tmp_path, {"captions": str(CAPTIONS)}, {"captions": str(tmp_path / "settings.toml")})
    before = path.read_text()
    with pytest.raises(OutputError, match=r"settings\.toml cannot be written: the same run reads it"):
        flow(str(path))
    done = completed([SURTITLE, "file", "--settings", path])
    assert done.returncode == 4
    assert "settings.toml cannot be written: the same run reads it" in done.stderr
    assert path.read_text() == before


def test_lines_that_are_put_aside_go_over_no_output(tmp_path: Path) -> None:
    given = tmp_path / "in.jsonl"
    given.write_bytes(CAPTIONS.read_bytes())
    aside = {"captions": str(given), "skip_bad": True}
    settings = load_settings(None, {"input": aside, "output": {"log": f"{given}.rejected"}})
    with pytest.raises(SurtitleError, match="give each its own file"):
        make_parts(settings)


@pytest.mark.parametrize("mode", ["w", "a"])
def test_what_is_standard_output_is_written_as_it_comes(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "out"
    path.write_text("old\n")
    for options in (
        ["--captions", "/dev/stdout"],
        ["--captions", "/dev/stdout", "--set", "output.summary=/dev/fd/1"],
    ):
        path.write_text("old\n")
        with path.open(mode) as out:
            command = [SURTITLE, "replay", CAPTIONS, "--quiet", *options]
            done = completed(command, stdout=out)
        assert (done.returncode, done.stderr) == (0, "")
        text = path.read_text()
        assert "\0" not in text
        assert text.startswith("old\n") == (mode == "a")
        there = tmp_path / "captions.jsonl"
        lines = [line for line in text.splitlines() if line.startswith('{"event":')]
        there.write_text("".join(f"{line}\n" for line in lines))
        assert validate(there, Caption) == validate(CAPTIONS, Caption)
        assert ('"signature"' in text) == ("--set" in options)


@pytest.mark.parametrize(("name", "redirected"), [("/dev/stderr", "2>>"), ("/dev/fd/7", "7>>")])
def test_whatever_a_run_was_started_with_is_written_as_it_comes(
    tmp_path: Path, name: str, redirected: str
) -> None:
    path = tmp_path / "out"
    path.write_text("old\n")
    run = f'"$@" {redirected} out'
    command = [
        SURTITLE,
        "replay",
        str(CAPTIONS),
        "--quiet",
        "--captions",
        name,
        "--set",
        f"output.summary={name}",
    ]
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
    return load_settings(None, {"output": {name: str(path) for name, path in files.items()}})


def test_a_second_run_on_the_same_files_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    settings = written(captions=tmp_path / "captions.jsonl", srt=tmp_path / "a.srt")
    output = settings.output
    watch, other = OutputWatch(print), OutputWatch(print)
    with held_outputs(settings, watch):
        begin_outputs(settings, watch, is_resumed=False)
        Path(output.captions or "").write_text("kept")
        command = [
            SURTITLE,
            "replay",
            CAPTIONS,
            "--quiet",
            "--srt",
            tmp_path / "b.srt",
            "--captions",
            output.captions,
        ]
        (tmp_path / "b.srt").write_text("kept")
        done = completed(command)
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
            "output": {"terminal": False, "log": str(tmp_path / "log.jsonl")},
            "metrics": {"listen": taken.getsockname()[1]},
        }
        with pytest.raises(OutputError, match="metrics cannot be served"):
            job(load_settings(None, raw))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_gone_on_from_leaves_no_file_behind(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("option", ["captions", "srt", "summary"])
def test_a_pipe_that_nobody_reads_ends_the_run_in_a_sentence(tmp_path: Path, option: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = completed(
        [SURTITLE, "replay", CAPTIONS, "--quiet", "--set", f"output.{option}={pipe}"], timeout=60,
    )  # fmt: skip
    sentence = f"surtitle: {pipe} cannot be written: nobody reads it; start a reader for it first\n"
    assert (done.returncode, done.stderr) == (4, sentence)


def test_a_run_goes_on_in_a_folder_that_was_renamed(tmp_path: Path) -> None:
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
