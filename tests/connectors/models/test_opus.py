"""OPUS-MT by name: the real client fetches folders of a hub on this machine, and they translate."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from connectors.models.opus import fetch_opus, is_opus_here, opus_languages, opus_repository
from connectors.models.resolve import models_for, resolve_model
from operators.errors import InputError, UsageError
from operators.languages import LANGUAGES, Direction, language
from operators.seq2seq.marian import MarianModel
from operators.seq2seq.prompt import pair_prompt
from tests.connectors.models.hub import COMMIT, Hub, connect
from tests.program import ROOT, SURTITLE
from tests.tiny_marian import write_tiny

EN_DE = Direction.of("en", "de")
REPO = "Xenova/opus-mt-en-de"


@pytest.fixture(autouse=True)
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    hub, folder = Hub(), write_tiny(tmp_path / "served")
    (folder / "onnx").mkdir()
    for name in ("encoder_model", "decoder_model_merged"):
        (folder / f"{name}.onnx").rename(folder / "onnx" / f"{name}_quantized.onnx")
    for path in folder.rglob("*.*"):
        hub.files[f"{REPO}/{path.relative_to(folder).as_posix()}"] = path.read_bytes()
    with hub.serving():
        connect(hub, tmp_path, monkeypatch)
        yield hub


def test_recorded_speech_is_captioned_by_the_name_alone(hub: Hub, tmp_path: Path) -> None:
    def run(*arguments: object) -> str:
        folders = {"HF_HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "xdg")}
        done = subprocess.run(
            [SURTITLE, *map(str, arguments)], capture_output=True, text=True, timeout=240, check=False,
            env={**os.environ, **folders, "HF_ENDPOINT": hub.url, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    got = run("models", "get", "opus-mt", "--from", "English", "--to", "German")
    assert got.splitlines()[0].endswith("opus-mt-en-de")
    assert "with attribution" in got
    asked, summary = len(hub.requests), tmp_path / "summary.json"
    run(
        "replay", ROOT / "tests" / "samples" / "partials.jsonl", "--model", "opus-mt",
        "--set", "translate.threads=1", "--set", f"output.summary={summary}",
    )  # fmt: skip
    assert json.loads(summary.read_text())["segments"] == 2
    assert "failed_pass" not in summary.read_text()
    assert len(hub.requests) == asked, "what is here needs no network"


def test_a_folder_is_fetched_once_with_progress_under_the_name_of_the_model(hub: Hub) -> None:
    seen: list[tuple[str, float | None]] = []
    assert not is_opus_here(None)
    folder = fetch_opus(EN_DE, lambda what, fraction: seen.append((what, fraction)))
    assert folder.name == "opus-mt-en-de"
    assert folder.resolve().name == COMMIT
    for name, content in hub.files.items():
        assert (folder / name.removeprefix(f"{REPO}/")).read_bytes() == content
    assert (f"fetching onnx/encoder_model_quantized.onnx of {REPO}", 1.0) in seen
    assert is_opus_here(EN_DE)
    assert is_opus_here(None)
    hub.requests.clear()
    assert fetch_opus(EN_DE) == folder
    assert hub.requests == []


def test_what_is_missing_after_an_interruption_is_fetched_and_nothing_is_used_before(hub: Hub) -> None:
    def interrupt(what: str, _fraction: float | None) -> None:
        if "decoder" in what:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_opus(EN_DE, interrupt)
    assert not is_opus_here(EN_DE)
    hub.requests.clear()
    assert fetch_opus(EN_DE).is_dir()
    (again,) = {path for method, path, _ in hub.requests if method == "GET"}
    assert again.endswith("decoder_model_merged_quantized.onnx")


def test_optional_files_may_be_missing_and_the_others_are_named(hub: Hub) -> None:
    assert f"{REPO}/generation_config.json" not in hub.files
    del hub.files[f"{REPO}/source.spm"]
    with pytest.raises(InputError, match=rf"the hub has no source\.spm of {REPO}"):
        fetch_opus(EN_DE)


def test_every_language_of_the_models_of_many_has_its_token(tmp_path: Path) -> None:
    # Some of those that the makers publish for both models.
    told = re.findall(r"\w+", "bul cat ell epo est ewe fra gle glg heb lav ltz mkd pol por sqi tur zul")
    folder = write_tiny(tmp_path, added=tuple(f">>{one}<<" for one in told))
    model = MarianModel(folder, 1)
    directions = [Direction(EN_DE.source, one) for one in LANGUAGES if one == one.general]
    ours = [one for one in directions if str(opus_repository(one)).endswith(("mul", "ROMANCE"))]
    heads = {pair_prompt(model, one).head for one in ours}
    assert len(heads) == len(ours) == 15


def test_directions_of_one_repository_share_a_model() -> None:
    directions = [Direction.of("en", one) for one in ("de", "pt", "gl")]
    assert models_for(("opus-mt", one) for one in directions) == [
        ("opus-mt", directions[:1]),
        ("opus-mt", directions[1:]),
    ]
    assert opus_repository(directions[1]) == "Xenova/opus-mt-en-ROMANCE"
    assert all(language(code).code == code for code in opus_languages())
    for name in ("opus-mt", "firefox"):
        with pytest.raises(UsageError, match="this needs a language model"):
            resolve_model(name, EN_DE)
