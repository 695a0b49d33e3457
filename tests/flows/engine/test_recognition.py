"""The spoken language reaches every recogniser, or is refused in a sentence before a model is loaded."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from flows.engine.recognition import check_recognizer, chosen, make_recognizer
from flows.settings.loading import load_settings
from flows.settings.schema import RecognizeSettings
from operators.errors import UsageError
from operators.languages import LANGUAGES, language
from operators.recognizers.azure import LOCALES, AzureSettings, locale
from operators.recognizers.moonshine import bundled_model
from tests.operators.recognizers.azure.server import chunks, running, say

KEY = "0123456789abcdef0123456789abcdef"


def azure(**own: Any) -> RecognizeSettings:
    return load_settings(None, {"recognize": {"engine": "azure", "azure": {"key": KEY, **own}}}).recognize


@pytest.mark.parametrize(
    ("spoken", "own", "asked"), [("German", None, "de-DE"), ("german", "de-AT", "de-AT")]
)
def test_azure_is_asked_for_the_spoken_language(spoken: str, own: str | None, asked: str) -> None:
    with running() as server:
        settings = azure(host=server.url, language=own)
        check_recognizer(settings, spoken=(language(spoken),), is_live=True)
        recognizer = make_recognizer(settings, spoken=(language(spoken),), observe=lambda _changed: None)
        for chunk in chunks(say([1])):
            recognizer.accept(chunk)
        query = parse_qs(urlsplit(server.wait_for_session(1).path).query)
        recognizer.close()
    assert query["language"] == [asked]


def test_azure_is_asked_for_the_spoken_language_or_refuses_it() -> None:
    asked = {one: locale(AzureSettings(), one) for one in LANGUAGES if one.code in LOCALES}
    assert all(language(tag).general == one for one, tag in asked.items())
    assert len(asked) > 70
    with pytest.raises(UsageError, match="surtitle has no Azure tag for Tibetan"):
        locale(AzureSettings(), language("Tibetan"))
    portuguese, european = language("pt"), language("pt-PT")
    assert locale(AzureSettings(), european) == locale(AzureSettings(language="pt-PT"), portuguese) == "pt-PT"
    with pytest.raises(
        UsageError, match=r"azure\.language is pt-BR, but the spoken language is European Portuguese"
    ):
        locale(AzureSettings(language="pt-BR"), european)


@pytest.mark.parametrize(
    ("engine", "folder", "sentence"),
    [
        (
            "moonshine",
            None,
            "model of moonshine supports English only; choose --recognizer auto for French",
        ),
        ("moonshine", bundled_model(), "tiny-en: by its name, this model recognises English, but"),
        ("vosk", Path("vosk-model-small-cn-0.22"), "recognises Chinese, but the spoken language is"),
        (
            "sherpa",
            Path("models/sherpa-onnx-streaming-zipformer-de-kroko-2025-08-06"),
            "recognises German, but the spoken",
        ),
        (
            "sherpa",
            Path("models/Kroko-PT-Community-64-L-Streaming-001.data"),
            "recognises Portuguese, but the spoken",
        ),
        ("vosk", None, "vosk comes without a model: name the folder of one with --speech-model"),
        ("whisper", Path("base.en"), "base.en does not recognise French; `surtitle models --speech` lists"),
        (
            "auto",
            Path("tiny.en"),
            "tiny.en does not recognise French; `surtitle models --speech` lists others",
        ),
        ("auto", Path("smal"), "there is no folder and no model 'smal'; did you mean small?"),
    ],
)
def test_a_recogniser_of_another_language_is_refused(engine: str, folder: Path | None, sentence: str) -> None:
    settings = RecognizeSettings(engine=engine, model=None if folder is None else str(folder))

    with pytest.raises(UsageError, match=sentence):
        check_recognizer(settings, spoken=(language("FR-ca"),), is_live=True)


def test_azure_is_not_configured_for_another_language_than_the_spoken_one() -> None:
    settings = azure(host="ws://localhost:5000", language="en-US")
    with pytest.raises(UsageError, match=r"azure\.language is en-US, but the spoken language is German"):
        check_recognizer(settings, spoken=(language("German"),), is_live=True)


def test_a_recogniser_of_one_language_is_not_given_several_or_none() -> None:
    several = (language("English"), language("German"))
    for spoken, many in ((several, "several"), ((), "none")):
        with pytest.raises(UsageError, match=f"moonshine recognises one language, and --from names {many}:"):
            check_recognizer(RecognizeSettings(engine="moonshine"), spoken=spoken, is_live=True)


@pytest.mark.parametrize(
    ("engine", "name"),
    [
        ("moonshine", "tiny-fr"),
        ("moonshine", "mine"),
        ("vosk", "vosk-model-fr-0.22"),
        ("sherpa", "models/sherpa-onnx-streaming-zipformer-fr-2023-04-14"),
        ("sherpa", "models/streaming-zipformer-en-fr-2025-01-01"),
    ],
)
def test_a_model_that_may_know_the_language_is_tried(engine: str, name: str) -> None:
    settings = RecognizeSettings(engine=engine, model=name)
    check_recognizer(settings, spoken=(language("French"),), is_live=False)


@pytest.mark.parametrize(
    ("spoken", "model", "engine", "runs"),
    [
        ("English", None, "moonshine", None),  # nothing more has to be installed
        ("English", "small", "whisper", "small"),
        ("Portuguese", None, "whisper", "base"),
        ("Portuguese", str(bundled_model()), "moonshine", str(bundled_model())),
        ("English,Portuguese", None, "auto", "base"),
        ("English,Portuguese", "small", "auto", "small"),
        ("", None, "auto", "base"),
    ],
)
def test_auto_chooses_the_best_recogniser_for_the_language(
    spoken: str, model: str | None, engine: str, runs: str | None
) -> None:
    languages = tuple(language(one) for one in spoken.split(",") if one)
    found = chosen(RecognizeSettings(model=model), languages)
    assert (found.engine, found.model) == (engine, runs)
