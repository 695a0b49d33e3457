"""The terms of a model that is not for every use are told when it is first opened, and then no more."""

import logging
import os
from pathlib import Path

import pytest

from connectors.models.terms import tell_limit
from flows.engine.recognition import tell_terms
from operators.models.terms import Limit
from tests.program import surtitle
from tests.tiny_gguf import pieces, write_model

PARTIALS = Path(__file__).parents[2] / "samples" / "partials.jsonl"


def test_the_terms_of_a_language_model_are_told_once(tmp_path: Path) -> None:
    model = write_model(
        tmp_path / "x.gguf", pieces({}), general_name="Tower Plus 2B", general_license="cc-by-nc-sa-4.0"
    )
    command = ["replay", PARTIALS, "--model", model, "--threads", 1, "--quiet"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    said = [surtitle(*command, env=environment).stderr for _start in range(2)]
    sentence = "surtitle: Tower Plus 2B is for non-commercial use (cc-by-nc-sa-4.0); read its terms"
    assert said[0].startswith(sentence)
    assert said[0].count("\n") == 1
    assert said[1] == ""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.usefixtures("cache")
def test_the_terms_of_moonshines_models_are_told_once_for_each_language(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    for spoken in ("English", "Korean", "ko", "Spanish", "French"):
        tell_terms("moonshine", spoken)
    assert [message.partition(" is for non-commercial")[0] for message in caplog.messages] == [
        "Moonshine's model for Korean",
        "Moonshine's model for Spanish",
    ]
    assert "(Moonshine Community License, www.moonshine.ai/license)" in caplog.text


def test_terms_are_told_again_where_nothing_can_be_remembered(
    cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    cache.write_text("a file in the place of the folder")
    for _start in range(2):
        tell_limit("Tower", Limit("is for nobody", "CC BY-NC"))
    assert len(caplog.messages) == 2


def test_terms_that_nobody_could_read_are_told_later(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger="connectors.models.terms")
    tell_limit("Tower", Limit("is for nobody", "CC BY-NC"))
    assert not cache.exists()
    caplog.set_level(logging.INFO)
    caplog.set_level(logging.INFO, logger="connectors.models.terms")
    tell_limit("Tower", Limit("is for nobody", "CC BY-NC"))
    assert len(caplog.messages) == 1
