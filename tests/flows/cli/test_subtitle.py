"""``surtitle subtitle`` names its files after the recordings, and keeps what was there."""

import signal
import subprocess
from http import HTTPStatus
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from operators.recognizers.moonshine import bundled_model
from tests.operators.recognizers.azure.server import KEY
from tests.operators.recognizers.azure.server import running as azure
from tests.program import SURTITLE, Program, surtitle
from tests.recordings import write

SPEECH = bundled_model().parent / "two_cities.wav"


def spoken(seconds: int) -> tuple[NDArray[np.int16], int]:
    samples, rate = soundfile.read(SPEECH, frames=16_000 * seconds, dtype="int16")
    return np.ascontiguousarray(samples if samples.ndim == 1 else samples[:, 0]), rate


def test_each_recording_gets_its_own_files_and_a_copy_with_subtitles(tmp_path: Path) -> None:
    for name in ("talk.mp4", "other.mkv"):
        write(tmp_path / name, *spoken(6))
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

    again = surtitle("subtitle", given[0], "--captions-only", "--vtt")
    assert again.returncode == 4
    assert "talk.en.srt is there already; move it away, or give --overwrite" in again.stderr


def test_corrected_subtitles_go_into_the_copy_as_they_are(tmp_path: Path) -> None:
    video = write(tmp_path / "talk.mp4", *spoken(6))
    corrected = "1\n00:00:00,500 --> 00:00:02,000\nCorrected by hand.\n\n"
    (tmp_path / "talk.en.srt").write_text(corrected)
    done = surtitle("subtitle", video, "--captions-only", "--mux")
    assert (done.returncode, "existing subtitles are used" in done.stderr) == (0, True), done.stderr
    assert (tmp_path / "talk.en.srt").read_text() == corrected
    with av.open(str(tmp_path / "talk.captioned.mp4")) as copy:
        assert b"Corrected by hand." in b"".join(bytes(one) for one in copy.demux(subtitles=0))


@pytest.mark.parametrize(
    ("saved", "reason"),
    [
        (b"A letter.\n", "has no SubRip subtitles; save it as SubRip"),
        ("Não --> é".encode("cp1252"), "is not UTF-8"),
    ],
)
def test_subtitles_that_were_saved_as_something_else_go_into_no_copy(
    saved: bytes, reason: str, tmp_path: Path
) -> None:
    video, subtitles = write(tmp_path / "talk.mp4", *spoken(6)), tmp_path / "talk.en.srt"
    subtitles.write_bytes(saved)
    refused = surtitle("subtitle", video, "--captions-only", "--mux")
    assert refused.returncode == 3
    assert reason in refused.stderr
    assert not (tmp_path / "talk.captioned.mp4").exists()
    assert subtitles.read_bytes() == saved


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("a/talk.mp4", "b/talk.wav", "--folder", "out"), "would both be out/talk.de.srt"),
        (("https://127.0.0.1:1/a.mp4", "--mux"), "only a file can be copied"),
        (("https://127.0.0.1:1/a.mp4", "--burn"), "leave out --burn"),
        (("a/talk.mp4", "b/talk.mp4", "--folder", "out", "--burn"), "would both be out/talk.de.srt"),
        (("talk.mp4", "other.mp4", "--mux-into", "x.mp4"), "give --mux"),
        (("talk.wav", "captions.jsonl"), "takes sound; did you mean: surtitle replay"),
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


def test_an_interrupted_recording_leaves_what_was_there_and_no_half_of_its_subtitles(tmp_path: Path) -> None:
    samples, rate = spoken(60)
    talk = write(tmp_path / "talk.mkv", samples, rate, repeat=20)
    corrected = tmp_path / "talk.en.srt"
    corrected.write_text("corrected")
    command = [SURTITLE, "subtitle", str(talk), "--captions-only", "--mux", "--vtt", "--overwrite"]
    with Program([*command, "--set", "messages.format=json"], stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        while "run_started" not in running.stderr.readline():
            pass
        running.send_signal(signal.SIGINT)
        told = running.communicate(timeout=60)[1]
    assert (running.returncode, "interrupted before it was finished" in told) == (130, True)
    assert {*tmp_path.iterdir()} == {talk, corrected}
    assert corrected.read_text() == "corrected"


def test_a_refused_key_is_reported_and_leaves_no_subtitles(tmp_path: Path) -> None:
    talk = write(tmp_path / "talk.mkv", *spoken(6))
    settings = tmp_path / "azure.toml"
    with azure() as service:
        service.refusals.append(HTTPStatus.UNAUTHORIZED)
        settings.write_text(
            f'[recognize]\nengine = "azure"\nazure = {{ host = "{service.url}", key = "{KEY}" }}\n'
            "[input]\nrealtime = true\n"
        )
        refused = surtitle("subtitle", talk, "--captions-only", "--mux", "--settings", settings)
    assert refused.returncode == 3
    assert "refused the key" in refused.stderr
    assert {*tmp_path.iterdir()} == {talk, settings}


def test_damage_is_reported_even_if_no_copy_can_be_made(tmp_path: Path) -> None:
    talk = tmp_path / "talk.mkv"
    samples, rate = spoken(20)
    # Its second half is cut off, and it has no pictures.
    whole = write(tmp_path / "whole.mkv", samples, rate).read_bytes()
    talk.write_bytes(whole[: len(whole) // 2])
    done = surtitle("subtitle", talk, "--captions-only", "--burn")
    assert done.returncode == 3
    assert "its header promises" in done.stderr
    assert "it has no pictures" in done.stderr
    assert "It was the best" in (tmp_path / "talk.en.srt").read_text()


def test_a_file_in_the_settings_holds_one_recording_and_each_recording_starts_from_scratch(
    tmp_path: Path,
) -> None:
    settings, log = tmp_path / "run.toml", tmp_path / "log.jsonl"
    settings.write_text(f'[output]\nlog = "{log}"\nsummary = "s.json"\n[recovery]\nfolder = "kept"\n')
    talks = [tmp_path / "talk.wav", tmp_path / "other.wav"]
    for path in talks:
        soundfile.write(path, *spoken(6))
    options = ("--captions-only", "--settings", settings)
    refused = surtitle("subtitle", *talks, *options, cwd=tmp_path)
    assert refused.returncode == 2
    assert "output.log, output.summary: it would contain only the last of 2 recordings" in refused.stderr
    for path in talks:
        assert surtitle("subtitle", path, *options, cwd=tmp_path).returncode == 0
        assert log.stat().st_size


def test_old_chapters_are_removed_if_the_recording_has_none(tmp_path: Path) -> None:
    talk, chapters = write(tmp_path / "talk.mkv", *spoken(6)), tmp_path / "talk.chapters.vtt"
    chapters.write_text("of the talk that was here before")
    assert surtitle("subtitle", talk, "--captions-only", "--vtt", "--overwrite").returncode == 0
    assert not chapters.exists()


def test_each_of_several_languages_has_a_file_and_the_speech_one_for_all(tmp_path: Path) -> None:
    talk = tmp_path / "talk.mp4"
    for code in ("de", "fr", "en"):
        there = tmp_path / f"talk.{code}.srt"
        there.touch()
        refused = surtitle("subtitle", talk, "--to", "German,French", "--speech")
        assert f"{there} is there already" in refused.stderr
        there.unlink()


def test_the_track_in_the_spoken_language_is_used_unless_another_one_is_named(
    tmp_path: Path,
) -> None:
    film, (samples, rate) = tmp_path / "film.mkv", spoken(6)
    with av.open(str(film), "w") as made:
        dubbed, original = (made.add_stream("pcm_s16le", rate=rate, layout="mono") for _ in range(2))
        dubbed.metadata["language"], original.metadata["language"] = "ger", "eng"
        for stream, heard in ((dubbed, np.zeros_like(samples)), (original, samples)):
            frame = av.AudioFrame.from_ndarray(heard[None], format="s16", layout="mono")
            frame.sample_rate, frame.pts = rate, 0
            made.mux(stream.encode(frame))
    options = ("--captions-only", "--overwrite")
    done = surtitle("subtitle", film, *options)
    assert "film.mkv: audio track 2 of 2 (1 German, 2 English) is used; input.track chooses" in done.stderr
    assert "It was the best" in (tmp_path / "film.en.srt").read_text()
    for track in ("1", "German"):
        done = surtitle("subtitle", film, *options, "--set", f"input.track={track}")
        assert "audio track 1 of 2" in done.stderr
        assert not (tmp_path / "film.en.srt").read_text()
    assert surtitle("subtitle", film, *options, "--set", "input.track=Germna").returncode == 2
