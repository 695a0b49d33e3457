"""Named speech models: what the table says of each, and the one that packages bring."""

from hashlib import sha256
from pathlib import Path

import pytest

from connectors.models import speech
from connectors.models.speech import SpeechModel, named_speech, speech_models
from operators.errors import InputError, UsageError
from operators.languages import language
from operators.notifications import silent
from operators.recognizers.part import RECOGNIZERS


@pytest.mark.parametrize("one", speech_models().values(), ids=lambda one: str(one.name))
def test_what_the_table_says_of_a_model_is_whole(one: SpeechModel) -> None:
    assert one.engine in RECOGNIZERS
    assert one._wanted[0], "no file would be fetched"
    # Each of its languages has a name here.
    assert all(language(code).code == code for code in one.codes)


def test_a_model_knows_its_languages_whatever_their_script() -> None:
    base, english = speech_models()["base"], speech_models()["base.en"]
    assert base.recognises(language("zh-Hant"))
    assert not base.recognises(language("Irish"))
    assert english.recognises(language("English"))
    assert not english.recognises(language("German"))


def test_a_name_is_a_model_a_folder_is_none_and_the_rest_is_refused(tmp_path: Path) -> None:
    named = named_speech("large-v3-turbo")
    assert named is not None
    assert named.megabytes > 1000
    assert named_speech(str(tmp_path)) is None
    assert named_speech("models/mine") is None, "whoever opens it says that it is missing"
    with pytest.raises(UsageError, match="no model 'larg-v3'; did you mean large-v3"):
        named_speech("larg-v3")


def test_the_pieces_in_packages_are_put_together_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = [tmp_path / "one", tmp_path / "two"]
    for number, package in enumerate(packages, start=1):
        (package / "data").mkdir(parents=True)
        (package / "data" / f"model.bin.part{number}").write_bytes(b"half" * number)
    for name in ("config.json", "tokenizer.json", "vocabulary.txt"):
        (packages[0] / "data" / name).write_text(name)
    monkeypatch.setattr(speech, "_PACKAGES", packages)
    monkeypatch.setattr(speech, "files", lambda package: package)
    monkeypatch.setattr(speech, "user_cache_path", lambda _name: tmp_path / "cache")
    with pytest.raises(InputError, match=r"the pieces of Whisper base in .* are damaged"):
        speech._installed(silent)
    monkeypatch.setattr(speech, "_SHA256", sha256(b"half" * 3).hexdigest())
    said: list[str] = []
    folder = speech._installed(lambda what, _share: said.append(what))
    assert (folder / "model.bin").read_bytes() == b"half" * 3
    assert sorted(one.name for one in folder.iterdir() if not one.name.startswith(".")) == [
        "config.json", "model.bin", "tokenizer.json", "vocabulary.txt",
    ]  # fmt: skip
    assert said
    assert speech._installed(lambda *_said: pytest.fail("it is there")) == folder
