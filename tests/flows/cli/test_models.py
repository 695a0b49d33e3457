"""`surtitle models`: a table, JSON, and errors in one sentence."""

import json

from tests.program import surtitle


def test_the_models_for_two_languages_are_listed_with_the_best_one_that_keeps_up() -> None:
    done = surtitle("models", "--from", "en", "--to", "Welsh", "--json")
    told = json.loads(done.stdout)
    assert [one["name"] for one in told["models"]] == ["salamandrata-7b"]
    (one,) = told["models"]
    assert one["licence"] == "Apache-2.0"
    assert one["commercial"] is True
    assert one["file"] == "hub:BSC-LT/salamandraTA-7B-instruct-GGUF:salamandraTA_7B_inst_q4.gguf"
    assert one["update_ms"] > 0
    assert not one["is_measured"]
    table = surtitle("models", "--from", "en", "--to", "Welsh").stdout
    assert "salamandrata-7b" in table
    assert "English to Welsh" in table


def test_licences_with_restrictions_are_printed() -> None:
    table = " ".join(surtitle("models").stdout.split())
    assert "hy-mt1.5-1.8b: not in the European Union, the United Kingdom and South Korea" in table
    assert "tower-plus-2b: no commercial use" in table
    assert "opus-mt: commercial use with attribution" in table
    korean = " ".join(surtitle("models", "--from", "ko", "--to", "en").stdout.split())
    assert "Moonshine's model for Korean: no commercial use (Moonshine Community License" in korean


def test_a_mistyped_name_is_answered_in_one_sentence() -> None:
    assert surtitle("models", "get", "hy-mt2").stderr.endswith("`surtitle models` lists them\n")
    assert "give both --from and --to" in surtitle("models", "--to", "de").stderr
    assert "did you mean German?" in surtitle("models", "--from", "en", "--to", "Germna").stderr
    assert "comes with surtitle" in surtitle("models", "get", "captions").stdout
    assert "give --from and --to" in surtitle("models", "get", "opus-mt").stderr
    pair = ("--from", "German", "--to", "Japanese")
    assert "does not translate German to Japanese" in surtitle("models", "get", "opus-mt", *pair).stderr
    assert "does not translate German to Japanese" in surtitle("models", "get", "firefox", *pair).stderr
    assert "leave out --from and --to" in surtitle("models", "get", "hy-mt2-1.8b", *pair).stderr


def test_speech_models_are_listed_with_what_is_here_and_keeps_up() -> None:
    done = surtitle("models", "--speech", "--from", "Portuguese", "--json")
    found = {one["name"]: one for one in json.loads(done.stdout)["models"]}
    base = found["base"]
    assert (base["licence"], base["is_here"], base["is_measured"]) == ("MIT", True, True)
    assert "Portuguese" in base["languages"]
    assert "base.en" not in found
    assert found["small"]["pace"] > 2 * base["pace"] > 0
    table = surtitle("models", "--speech").stdout
    assert "tiny.en" in table
    assert "keeps up" in table


def test_a_speech_model_is_got_by_its_name() -> None:
    assert "whisper-base-" in surtitle("models", "get", "--speech", "base").stdout
    assert "did you mean small?" in surtitle("models", "get", "--speech", "smal").stderr
    assert "leave out --from" in surtitle("models", "get", "--speech", "base", "--from", "de").stderr
    assert "have no --to" in surtitle("models", "--speech", "--to", "de").stderr
