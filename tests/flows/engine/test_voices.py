"""The model of voices in the settings is found, or an error is reported before a run."""

from pathlib import Path
from typing import Any

import pytest
import soundfile

from flows.captions.resources import RunResources
from flows.doctor.checks import Finding, speakers
from flows.engine.voices import check_speakers, make_listeners
from flows.settings.loading import load_settings
from operators.errors import InputError, UsageError
from operators.events import SAMPLE_RATE
from operators.recognizers.moonshine import bundled_recording
from operators.voices.assigning import VoicesState
from operators.voices.settings import SpeakersSettings
from tests.program import surtitle
from tests.tiny_voices import voice, write_wespeaker


@pytest.mark.parametrize(
    ("asked", "tells_apart", "most"),
    [
        ({}, False, 100), ({"voices": 1}, False, 1), ({"voices": "any"}, True, 100), ({"voices": 4}, True, 4),
        ({"names": "names.tsv"}, True, 100), ({"model": "own.onnx"}, True, 100),
    ],
)  # fmt: skip
def test_speakers_are_distinguished_only_if_the_settings_enable_it(
    asked: dict[str, Any], tells_apart: bool, most: int
) -> None:
    settings = load_settings(None, {"translate": {"to": "German"}, "speakers": asked}).speakers
    assert (settings.tells_apart, settings.most) == (tells_apart, most)


def test_settings_that_cannot_be_used_are_refused_before_a_model_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none.onnx: there is no such file; check its name"):
        check_speakers(SpeakersSettings(model=str(tmp_path / "none.onnx")))
    with pytest.raises(
        UsageError, match="--speakers 1 names the only speaker after the room or the recording"
    ):
        check_speakers(SpeakersSettings(voices=1, names="names.tsv"))
    asked = ("--speakers", "--set", "speakers.model=none.onnx", "--to", "pt")
    done = surtitle("file", bundled_recording(), *asked)
    assert (done.returncode, done.stderr) == (
        3, "surtitle: none.onnx: there is no such file; check its name\n"
    )  # fmt: skip


def test_the_doctor_reports_whether_speakers_can_be_distinguished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.doctor.checks.voices_file", lambda: None)
    (found,) = speakers(SpeakersSettings())
    assert (found.verdict, "`surtitle models get voices` downloads" in found.sentence) == ("ok", True)
    (found,) = speakers(SpeakersSettings(voices=3))
    assert (found.verdict, found.remedy) == ("warning", "surtitle models get voices")
    can = [Finding("ok", "Speakers can be distinguished with --speakers")]
    assert speakers(SpeakersSettings(model=str(write_wespeaker(tmp_path / "own.onnx")))) == can
    monkeypatch.setattr("flows.doctor.checks.voices_file", lambda: tmp_path)
    assert speakers(SpeakersSettings()) == can


def test_a_later_run_knows_voices_by_the_names_that_they_were_given(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "anna.wav", voice(800, 4.0), SAMPLE_RATE)
    (tmp_path / "names.tsv").write_text("Anna\tanna.wav\n")
    model = write_wespeaker(tmp_path / "own.onnx")
    known = SpeakersSettings(model=str(model), names=str(tmp_path / "names.tsv"))
    for settings, called in ((SpeakersSettings(voices=1), "talk"), (known, "Anna")):
        make = make_listeners(settings, lambda stream: stream)
        assert make is not None
        first = make("talk", VoicesState())
        first.rename(called, "Bea")
        later = make("talk", first.state)
        later.rename(called, "Nobody")
        state = later.state
        assert ([one.label for one in state.voices] or [state.last]) == ["Bea"]


def test_the_only_speaker_of_a_recording_is_called_like_its_stream() -> None:
    settings = load_settings(None, {"translate": {"to": "German"}, "speakers": {"voices": 1}})
    called = RunResources(settings, lambda _event: None).speaker_of
    assert [called(stream) for stream in ("monday", "12", "a" * 200)] == ["monday", "#12", "a" * 100]
