"""``surtitle subtitle`` names its files after the recordings, and overwrites nothing."""

import signal
import subprocess
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile

from operators.recognizers.moonshine.recognizer import bundled_model
from tests.program import SURTITLE, Program, surtitle
from tests.recordings import write

SPEECH = bundled_model().parent / "two_cities.wav"


def test_each_recording_gets_its_own_files_and_a_copy_with_subtitles(tmp_path: Path) -> None:
    samples, rate = soundfile.read(SPEECH, frames=16_000 * 6, dtype="int16")
    mono = np.ascontiguousarray(samples if samples.ndim == 1 else samples[:, 0])
    for name in ("talk.mp4", "other.mkv"):
        write(tmp_path / name, mono, rate)
    (tmp_path / "noise.mp4").write_text("no video\n" * 40)
    given = [tmp_path / name for name in ("talk.mp4", "noise.mp4", "other.mkv")]
    options = ("--captions-only", "--vtt", "--mux")

    first = surtitle("subtitle", *given, *options)

    made = {"talk.en.srt", "talk.en.vtt", "talk.captioned.mp4", "other.en.srt", "other.en.vtt"}
    made.add("other.captioned.mkv")
    assert {one.name for one in tmp_path.iterdir()} == {*made, *(one.name for one in given)}
    assert first.returncode == 3
    assert first.stderr.count("noise.mp4: it cannot be decoded") == 1
    assert "talk.en.srt" in first.stdout
    assert "It was the best" in (tmp_path / "talk.en.srt").read_text()
    with av.open(str(tmp_path / "talk.captioned.mp4")) as copy:
        assert [one.metadata["language"] for one in copy.streams if one.type == "subtitle"] == ["eng"]

    again = surtitle("subtitle", given[0], *options)
    assert again.returncode == 4
    assert "talk.en.srt is there already; move it away, or give --overwrite" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("a/talk.mp4", "b/talk.wav", "--folder", "out"), "would both be out/talk.de.srt"),
        (("https://127.0.0.1:1/a.mp4", "--mux"), "only a file can be copied"),
        (("https://127.0.0.1:1/a.mp4", "--burn"), "leave out --burn"),
        (("a/talk.mp4", "b/talk.mp4", "--folder", "out", "--burn"), "would both be out/talk.de.srt"),
        (("talk.mp4", "other.mp4", "--mux-into", "x.mp4"), "give --mux"),
        (("talk.mp4", "--mux-into", "x.avi"), "name it .mp4, .m4v or .mkv"),
        (("talk.mp4", "--mux-into", "talk.mp4"), "would both be talk.mp4"),
    ],
)
def test_files_that_cannot_be_written_are_refused_before_anything_is_read(
    arguments: tuple[str, ...], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = surtitle("subtitle", *arguments, "--to", "German")
    assert refused.returncode == 2
    assert reason in refused.stderr


def test_an_interrupted_recording_leaves_no_half_of_its_subtitles(tmp_path: Path) -> None:
    samples, rate = soundfile.read(SPEECH, dtype="int16")
    mono = np.ascontiguousarray(samples if samples.ndim == 1 else samples[:, 0])
    talk = write(tmp_path / "talk.mkv", mono, rate, repeat=20)
    command = [SURTITLE, "subtitle", str(talk), "--captions-only", "--mux", "--log-format", "json"]
    with Program(command, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        while "run_started" not in running.stderr.readline():
            pass
        assert (tmp_path / "talk.en.srt").exists()
        running.send_signal(signal.SIGINT)
        told = running.communicate(timeout=60)[1]
    assert (running.returncode, "interrupted before it was finished" in told) == (130, True)
    assert list(tmp_path.iterdir()) == [talk]


def test_each_of_several_languages_has_a_file_and_the_speech_one_for_all(tmp_path: Path) -> None:
    talk = tmp_path / "talk.mp4"
    for code in ("de", "fr", "en"):
        there = tmp_path / f"talk.{code}.srt"
        there.touch()
        refused = surtitle("subtitle", talk, "--to", "German,French", "--speech")
        assert f"{there} is there already" in refused.stderr
        there.unlink()
