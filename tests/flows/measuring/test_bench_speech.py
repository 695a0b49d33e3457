"""``surtitle bench-speech`` from end to end."""

import json
from pathlib import Path

import pytest
import soundfile

from operators.recognizers.moonshine import bundled_model
from tests.operators.recognizers.whisper.model_folder import TINY_EN
from tests.program import surtitle

#: As long as saying so takes.
SECONDS = 3.6
SAID = {"file": "talk.wav", "text": "It was the best of times, it was the worst of times,"}


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first seconds of a reading."""
    samples, rate = soundfile.read(bundled_model().parent / "two_cities.wav", dtype="int16")
    path = tmp_path_factory.mktemp("talk") / "talk.wav"
    soundfile.write(path, samples[: round(SECONDS * rate)], rate)
    return path


def test_all_ways_are_measured_on_the_same_windows(talk: Path, tmp_path: Path) -> None:
    (tmp_path / "manifest.jsonl").write_text(json.dumps(SAID) + "\n")
    done = surtitle(
        "bench-speech", talk, "--reference", tmp_path / "manifest.jsonl",
        "--json", tmp_path / "out.json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    written = json.loads((tmp_path / "out.json").read_text())
    rows = {(row["method"], row["bias"], row["certainty"]): row for row in written["rows"]}

    assert set(rows) == {
        *((method, bias, certainty) for method, bias in (("scratch", None), ("draft", 0.0), ("draft", 0.2))
          for certainty in (None, 0.0, 0.7)),
    }  # fmt: skip
    assert len({row["updates"] for row in rows.values()}) == 1
    assert all(0 < row["finals_equal"] <= row["finals"] for row in rows.values())
    assert all(row["wer"] < 30 for row in rows.values())
    assert rows["draft", 0.2, None]["passes_per_update"] < rows["scratch", None, None]["passes_per_update"]
    assert written["signature"]["corpus_sha256"]
    assert "finals equal" in done.stdout


@pytest.mark.long
def test_whisper_is_measured_in_the_same_way(talk: Path, tmp_path: Path) -> None:
    settings = tmp_path / "often.toml"
    settings.write_text("[recognize]\nupdate_interval_s = 1\n")
    done = surtitle(
        "bench-speech", talk, "--recognizer", "whisper", "--speech-model", TINY_EN, "--bias", "0.2",
        "--certainty", "0.7", "--settings", settings, "--json", tmp_path / "out.json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    written = json.loads((tmp_path / "out.json").read_text())
    scratch, draft = (
        next(row for row in written["rows"] if row["method"] == method) for method in ("scratch", "draft")
    )

    assert 0 < draft["finals_equal"] <= draft["finals"]
    assert draft["passes_per_update"] < scratch["passes_per_update"]
    assert written["signature"]["model"] == TINY_EN.name
