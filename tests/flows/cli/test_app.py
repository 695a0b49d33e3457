"""The command line from end to end: a process of its own, real speech, real files."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from flows.settings.options import with_number
from tests.flows.talk import read
from tests.killing import TIMES
from tests.program import SURTITLE, Program, surtitle
from tests.waiting import size, until

SAMPLES = Path(__file__).parent.parent.parent / "samples"
PARTIALS = SAMPLES / "partials.jsonl"


def timeless(path: Path) -> list[dict[str, Any]]:
    timed = TIMES | {"arrival_s"}
    return [{name: value for name, value in event.items() if name not in timed} for event in read(path)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, speech: Path, small: list[str]) -> Path:
    """A folder with everything that one run on real speech writes."""
    folder = tmp_path_factory.mktemp("run")
    done = surtitle(
        "file", speech, "--to", "German", *small,
        "--set", f"output.log={folder / 'log.jsonl'}", "--captions", folder / "captions.jsonl",
        "--set", f"output.partials={folder / 'partials.jsonl'}",
        "--set", f"output.sentences={folder / 'sentences.jsonl'}",
        "--set", f"output.translations={folder / 'translations.jsonl'}",
        "--set", f"output.summary={folder / 'summary.json'}",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (folder / "stdout").write_text(done.stdout)
    (folder / "stderr").write_text(done.stderr)
    return folder


def test_speech_becomes_german_captions_and_a_summary_closes_the_run(run: Path) -> None:
    finals = [caption for caption in read(run / "captions.jsonl") if caption["is_final"]]
    stdout = (run / "stdout").read_text()
    assert finals
    assert all(caption["shown"] and not caption["withheld"] for caption in finals)
    assert stdout.splitlines()[0] == finals[0]["shown"]
    last = stdout.splitlines()[-1]
    assert last.split() == ["log", str(run / "log.jsonl")]
    for word in ("segments", "NE raw", "shown", "A/D", "A/O", "p50", "p95"):
        assert word in stdout
    assert (run / "stderr").read_text() == ""


def test_a_recording_that_nobody_watches_has_no_latency_in_its_summary(
    tmp_path: Path, speech: Path, small: list[str]
) -> None:
    done = surtitle("file", speech, "--to", "German", *small, "--srt", tmp_path / "talk.srt")
    assert re.search(r"^ segments  \d+$", done.stdout, re.MULTILINE)
    assert "latency" not in done.stdout


def test_the_summary_holds_the_figures_and_the_settings_that_made_them(run: Path) -> None:
    summary = json.loads((run / "summary.json").read_text())
    log = read(run / "log.jsonl")
    assert summary["updates"] == len(log)
    assert summary["segments"] == sum(record["is_final"] for record in log)
    assert summary["ne_raw"] == pytest.approx(log[-1]["raw"]["ne_stream"])
    assert summary["ne_shown"] <= summary["ne_raw"]
    assert 0 < summary["accepted_over_drafted"] <= 1
    assert 0 < summary["latency_ms"]["p50"] <= summary["latency_ms"]["p95"]
    assert summary["settings"]["translate"]["accept"] == "auto"


@pytest.mark.parametrize("events_name", ["partials", "sentences", "translations", "captions"])
def test_replaying_any_stage_gives_the_same_captions_and_erasure(
    run: Path, tmp_path: Path, events_name: str, small: list[str]
) -> None:
    done = surtitle(
        "replay", run / f"{events_name}.jsonl", "--to", "German", *small, "--quiet",
        "--captions", tmp_path / "captions.jsonl", "--set", f"output.log={tmp_path / 'log.jsonl'}",
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert timeless(tmp_path / "captions.jsonl") == timeless(run / "captions.jsonl")
    same = ("raw", "shown", "segment", "revision", "is_final", "signature")
    assert [[record[name] for name in same] for record in read(tmp_path / "log.jsonl")] == [
        [record[name] for name in same] for record in read(run / "log.jsonl")
    ]


def test_a_silent_recording_is_answered_with_one_sentence(tmp_path: Path, small: list[str]) -> None:
    talk = tmp_path / "talk.wav"
    soundfile.write(talk, np.zeros(16_000), 16_000)
    sentence = f"{talk} is silent, so there are no captions; record or export it again\n"
    done = surtitle("file", talk, *small)
    assert (done.returncode, done.stdout, done.stderr) == (0, sentence, "")
    done = surtitle("file", talk, *small, "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"surtitle: {sentence}")


def test_profile_prints_the_time_of_an_update_outside_the_model(small: list[str]) -> None:
    done = surtitle("replay", PARTIALS, *small, "--set", "run.profile=true")
    assert "ms at the median besides the model's forward passes" in done.stdout


def test_interrupted_speech_is_translated_to_its_end(tmp_path: Path, speech: Path, small: list[str]) -> None:
    captions = tmp_path / "captions.jsonl"
    command = [SURTITLE, "file", str(speech), *small, "--realtime", "--captions", str(captions)]
    with Program(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        until(lambda: size(captions))
        os.kill(process.pid, signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 0
    assert stderr == ""
    assert read(captions)[-1]["is_final"]
    assert "latency" in stdout


def test_a_mistake_that_a_stage_finds_ends_the_process_without_a_panic(tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text((SAMPLES / "captions.jsonl").read_text() + "not an event\n")
    done = surtitle(
        "file", "--set", f"input.captions={bad}", "--set", "input.skip_bad=true", "--srt", "/dev/full"
    )
    assert done.returncode == 4
    assert done.stderr.startswith("surtitle: /dev/full cannot be written: ")
    assert "put aside in" in done.stderr
    assert ("Traceback" in done.stderr, "panicked" in done.stderr) == (False, False)


def test_a_truncated_recording_is_translated_as_far_as_it_goes_and_reported(
    tmp_path: Path, speech: Path, small: list[str]
) -> None:
    half = tmp_path / "half.wav"
    half.write_bytes(speech.read_bytes()[: speech.stat().st_size // 2])
    done = surtitle("file", half, *small, "--captions", tmp_path / "captions.jsonl", "--quiet")
    assert done.returncode == 3
    assert "half.wav is truncated" in done.stderr
    assert read(tmp_path / "captions.jsonl")[-1]["is_final"]


def test_silence_and_noise_give_no_caption_and_no_work(tmp_path: Path, small: list[str]) -> None:
    noise = np.random.default_rng(0).normal(0, 300, 10 * 16_000).astype(np.int16)
    soundfile.write(tmp_path / "quiet.wav", np.concatenate((np.zeros(20 * 16_000, np.int16), noise)), 16_000)
    for name in ("captions.jsonl", "talk.vtt"):
        (tmp_path / name).write_text("of an earlier run")
    done = surtitle(
        "file", tmp_path / "quiet.wav", *small, "--set", f"output.summary={tmp_path / 'summary.json'}",
        "--captions", tmp_path / "captions.jsonl",
        "--srt", tmp_path / "talk.srt", "--vtt", tmp_path / "talk.vtt",
    )  # fmt: skip
    written = [(tmp_path / name).read_text() for name in ("captions.jsonl", "talk.srt", "talk.vtt")]
    assert written == ["", "", "WEBVTT\n\n"]
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert (done.returncode, done.stderr) == (0, "")
    assert (summary["updates"], summary["passes"]) == (0, 0)


def test_a_mistake_leaves_no_recovery_folder_that_would_refuse_the_next_try(tmp_path: Path) -> None:
    done = surtitle(
        "replay", PARTIALS, "--model", "absent.gguf", "--recovery", tmp_path / "run", cwd=tmp_path
    )
    assert done.returncode == 3
    assert not (tmp_path / "run").exists()


def test_a_reader_that_goes_away_ends_the_run_with_one_sentence(small: list[str]) -> None:
    command = (
        f"{SURTITLE} replay {PARTIALS} {' '.join(small)} --to German | head -n 0; exit ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 4
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("surtitle: ")


@pytest.mark.parametrize("command", ["replay", "report", "bench"])
def test_a_name_that_is_not_utf_8_is_refused_in_a_sentence(command: str) -> None:
    done = surtitle(command, b"talk\xff.jsonl".decode("utf-8", "surrogateescape"))
    assert done.returncode == 2
    assert done.stderr == "surtitle: talk\\udcff.jsonl is not UTF-8; give the file another name\n"


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["--speakers", "talk.wav"], ["--speakers=any", "talk.wav"]),
        (["talk.wav", "--speakers"], ["talk.wav", "--speakers=any"]),
        (["--speakers", "4", "talk.wav"], ["--speakers=4", "talk.wav"]),
        (["talk.wav", "--speakers", "--srt", "4"], ["talk.wav", "--speakers=any", "--srt", "4"]),
        (["--speakers", "any", "--speakers=2", "4"], ["--speakers=any", "--speakers=2", "4"]),
        (["--speakers", "--", "4", "--speakers"], ["--speakers=any", "--", "4", "--speakers"]),
    ],
)
def test_the_number_of_speakers_may_be_left_out(given: list[str], read: list[str]) -> None:
    assert with_number(given) == read


def test_a_recording_behind_speakers_is_the_recording() -> None:
    assert (
        "talk.wav: there is no such file" in surtitle("file", "--speakers", "talk.wav", "--to", "pt").stderr
    )
    too_many = surtitle("file", "talk.wav", "--speakers", "101", "--to", "pt").stderr
    assert too_many == "surtitle: speakers.voices: Expected `int` <= 100\n"
