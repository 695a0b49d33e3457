"""``surtitle bench-speech`` and ``bench-rooms`` measure, and say in one sentence what they cannot."""

import json
from pathlib import Path
from typing import Any

import pytest
import soundfile

from operators.recognizers.moonshine.recognizer import bundled_model
from tests.flows.cli.test_app import PARTIALS
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
        "bench-speech", talk, "--reference", tmp_path / "manifest.jsonl", "--native",
        "--json", tmp_path / "out.json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    written = json.loads((tmp_path / "out.json").read_text())
    rows = {(row["method"], row["bias"], row["certainty"]): row for row in written["rows"]}

    assert set(rows) == {
        *((method, bias, certainty) for method, bias in (("scratch", None), ("draft", 0.0), ("draft", 0.2))
          for certainty in (None, 0.0, 0.7)),
        ("native", None, None),
    }  # fmt: skip
    assert len({row["updates"] for key, row in rows.items() if key[0] != "native"}) == 1
    assert all(0 < row["finals_equal"] <= row["finals"] for key, row in rows.items() if key[0] != "native")
    assert all(row["wer"] < 30 for row in rows.values())
    assert rows["draft", 0.2, None]["passes_per_update"] < rows["scratch", None, None]["passes_per_update"]
    assert written["signature"]["corpus_sha256"]
    assert "finals equal" in done.stdout


@pytest.mark.long
def test_whisper_is_measured_in_the_same_way(talk: Path, tmp_path: Path) -> None:
    done = surtitle(
        "bench-speech", talk, "--recognizer", "whisper", "--speech-model", TINY_EN, "--bias", "0.2",
        "--certainty", "0.7", "--interval", 1, "--json", tmp_path / "out.json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    written = json.loads((tmp_path / "out.json").read_text())
    scratch, draft = (
        next(row for row in written["rows"] if row["method"] == method) for method in ("scratch", "draft")
    )

    assert 0 < draft["finals_equal"] <= draft["finals"]
    assert draft["passes_per_update"] < scratch["passes_per_update"]
    assert written["signature"]["model"] == TINY_EN.name


COSTS = {"tokens": [1, 8, 64], "ms": [5.0, 8.0, 30.0]}


def rows(path: Path) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = json.loads(path.read_text())["rows"]
    return written


def test_rooms_are_measured_together_alone_and_through_the_stage_of_a_run_and_simulated(
    small: list[str], tmp_path: Path
) -> None:
    done = surtitle(
        "bench-rooms", PARTIALS, *small, "--rooms", "3", "--seconds", 2, "--simulate", "3,500",
        "--modes", "batched,alone,flow", "--json", tmp_path / "out.json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    made = rows(tmp_path / "out.json")
    assert [(row["rooms"], row["mode"], row["simulated"]) for row in made] == [
        *((3, mode, False) for mode in ("batched", "alone", "flow")),
        *((rooms, mode, True) for rooms in (3, 500) for mode in ("batched", "alone")),
    ]
    assert all(row["updates"] > 0 and row["p50_ms"] <= row["p95_ms"] for row in made)
    assert all((row["memory_mb"] is None) == row["simulated"] for row in made)
    # What three rooms say within the time is the same, however it is translated.
    of_three = [row for row in made if row["rooms"] == 3]
    assert len({row["updates"] + row["dropped"] for row in of_three}) == 1
    assert len({row["finals"] for row in of_three}) == 1
    signature = json.loads((tmp_path / "out.json").read_text())["signature"]
    assert signature["fill"] >= 1
    assert signature["model"]["sha256"]
    assert "3, batched, simulated" in done.stdout


def test_translations_are_simulated_without_a_model(small: list[str], tmp_path: Path) -> None:
    saved = tmp_path / "translations.jsonl"
    assert surtitle("replay", PARTIALS, *small, "--save-translations", saved, "--quiet").returncode == 0
    (tmp_path / "costs.json").write_text(json.dumps(COSTS))
    made = []
    for name in ("first", "second"):
        done = surtitle(
            "bench-rooms", saved, "--rooms", "none", "--simulate", "1,500", "--seconds", 5,
            "--costs", tmp_path / "costs.json", "--modes", "batched", "--json", tmp_path / name,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        made.append(rows(tmp_path / name))
    assert made[0] == made[1]
    one, many = made[0]
    assert many["tokens_per_second"] > one["tokens_per_second"]
    assert many["requests_per_pass"] > one["requests_per_pass"]
