"""A run whose files may not grow further, from the command line: it goes on, and says what is missing.

A limit on the size of files stands for a full disk: writes fail the same way, in the middle of a record.
"""

import json
import resource
import signal
import subprocess
from pathlib import Path
from typing import Any

import srt as srt_reader
import webvtt

from tests.flows.talk import write_paced_talk
from tests.program import SURTITLE

SEGMENTS = 120
#: Bytes that a file may have: too few for each, and enough for the summary.
LIMIT = 6000


OPTIONS = [
    "--captions", "captions.jsonl", "--set", "output.log=log.jsonl", "--srt", "talk.srt", "--vtt", "talk.vtt",
    "--set", "output.summary=summary.json",
]  # fmt: skip
NO_LIMIT = resource.RLIM_INFINITY


def start(folder: Path, limit: int, *options: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [SURTITLE, "replay", "talk.jsonl", *OPTIONS, *options], cwd=folder, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, NO_LIMIT)),
    )  # fmt: skip
    assert process.stderr is not None
    return process


def interrupted_at_the_end(process: "subprocess.Popen[str]") -> str:
    """The messages of a run that gets Ctrl-C when all captions were seen except the one that never comes."""
    assert process.stdout is not None
    while f"Herren {SEGMENTS - 1}" not in process.stdout.readline():
        pass
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=60)[1]


def records(path: Path) -> list[Any]:
    """All records of a file, which must be whole."""
    if path.suffix == ".srt":
        cues = list(srt_reader.parse(path.read_text(), ignore_errors=False))
        assert [cue.index for cue in cues] == list(range(1, len(cues) + 1))
        return [cue.content for cue in cues]
    if path.suffix == ".vtt":
        return [caption.text for caption in webvtt.read(str(path)).captions]
    assert not path.stat().st_size or path.read_bytes().endswith(b"\n")
    return [json.loads(line)["segment"] for line in path.read_text().splitlines()]


def test_captions_continue_and_the_summary_and_the_exit_code_report_what_files_lack(tmp_path: Path) -> None:
    write_paced_talk(tmp_path / "talk.jsonl", seconds=0.1, segments=SEGMENTS)
    process = start(tmp_path, LIMIT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 4
    assert [line for line in stdout.splitlines() if line.startswith("Guten")] == [
        f"Guten Morgen, meine Damen und Herren {segment}" for segment in range(SEGMENTS)
    ]
    summary = json.loads((tmp_path / "summary.json").read_text())
    missing = {one["path"]: one["records"] for one in summary["missing"]}
    names = ["captions.jsonl", "log.jsonl", "talk.srt", "talk.vtt"]
    assert sorted(missing) == names
    for name in names:
        there = records(tmp_path / name)
        assert 0 < len(there) < SEGMENTS
        assert len(there) + missing[name] == SEGMENTS
        told = f"{name} cannot be written: File too large; captions continue"
        assert stderr.count(told) == 1
    lacks = f"captions.jsonl lacks {missing['captions.jsonl']} records: File too large"
    assert lacks in stdout
    assert lacks in stderr.splitlines()[-1]


def test_a_full_disk_under_the_recovery_folder_ends_a_run_that_can_be_resumed(tmp_path: Path) -> None:
    write_paced_talk(tmp_path / "talk.jsonl", seconds=0.1, segments=SEGMENTS, is_endless=True)
    (tmp_path / "often.toml").write_text("[recovery]\ninterval_s = 0.01\n")
    options = ["--realtime", "--recovery", "run", "--settings", "often.toml"]
    process = start(tmp_path, NO_LIMIT, *options)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (100, NO_LIMIT))
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 4
        assert "surtitle: run: snapshots can no longer be stored there: " in stderr
        assert "free space and start the same command again" in stderr
        assert "Traceback" not in stderr
        process = start(tmp_path, NO_LIMIT, *options)
        stderr = interrupted_at_the_end(process)
    finally:
        process.kill()
    assert process.returncode == 0
    # The talk has no end: its last event never comes.
    assert all("the next event of" in line for line in stderr.splitlines())
    for name in ("captions.jsonl", "log.jsonl"):
        assert records(tmp_path / name) == list(range(SEGMENTS))
