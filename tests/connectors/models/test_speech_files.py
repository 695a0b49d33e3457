"""Speech models have names, and a name leads to what its engine takes."""

from pathlib import Path

import pytest

from connectors.models.speech import speech_models


def test_a_model_of_one_file_is_that_file_and_others_are_folders(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("connectors.models.speech.fetch_folder", lambda *_asked: tmp_path)
    one = speech_models()["kroko-pt"]
    assert one.fetch() == tmp_path / "Kroko-PT-Community-64-L-Streaming-001.data"
    assert speech_models()["kroko-fr"].fetch() == tmp_path
