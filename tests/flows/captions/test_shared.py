"""The models that workers share, and what is told of their loading."""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from flows.captions import shared
from flows.captions.shared import Shared
from flows.settings.loading import load_settings
from flows.settings.translate import TranslateSettings
from operators.errors import InputError
from operators.languages import Direction
from operators.models.pool import Usage
from operators.notifications import LoadingAt, LoadingBegan, LoadingEnded, ModelLoaded, Observed
from operators.sentences.joining import SentencesState
from operators.sentences.seam import Judge, Opinion
from tests.flows.talk import partials


def test_a_model_is_loaded_once_and_its_loading_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def open_engines(_settings: Any, _directions: Any, progress: Any) -> Any:
        progress("loading the model", 0.5)
        pool = SimpleNamespace(usage=Usage(1, 4, 10))
        return [
            SimpleNamespace(
                pool=pool,
                first=None,
                one_at_a_time=lambda: None,
                translator=lambda _settings, _decoder: object(),
            )
        ]

    monkeypatch.setattr(shared, "open_engines", open_engines)
    told: list[Observed] = []
    one = Shared(load_settings(None), told.append)
    assert one.translator() is one.translator()
    *loading, loaded = told
    assert loading == [LoadingBegan(), LoadingAt("loading the model", 0.5), LoadingEnded()]
    assert isinstance(loaded, ModelLoaded)
    assert loaded.usage() == Usage(1, 4, 10)
    # The next recording needs no loading.
    told.clear()
    Shared(load_settings(None), told.append, earlier=one).translator()
    assert [*map(type, told)] == [LoadingBegan, LoadingEnded, ModelLoaded]


def test_a_model_that_cannot_be_loaded_is_not_being_loaded_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def open_engines(*_given: Any) -> Any:
        raise InputError("it is damaged")

    monkeypatch.setattr(shared, "open_engines", open_engines)
    told: list[Observed] = []
    with pytest.raises(InputError, match="it is damaged"):
        Shared(load_settings(None), told.append).translator()
    assert told == [LoadingBegan(), LoadingEnded()]


def test_rooms_with_other_languages_have_no_glossary() -> None:
    opened: list[TranslateSettings] = []

    def translator(settings: TranslateSettings, _decoder: Any) -> Any:
        opened.append(settings)
        return object()

    settings = load_settings(None, {"translate": {"to": "German", "glossary": "terms.tsv"}})
    directions = tuple(Direction.of("English", target) for target in ("German", "French"))
    languages = SimpleNamespace(directions=directions, direction=lambda _stream: directions[0])
    one = Shared(settings, lambda _event: None, languages)
    engine: Any = SimpleNamespace(translator=translator, prompts={"en-de": None, "en-fr": None})
    one._translates(engine, SimpleNamespace())
    assert [(each.target, each.glossary) for each in opened] == [("German", "terms.tsv"), ("French", None)]


def test_only_english_is_judged_whatever_translates(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []

    def judge(_before: str, _after: str) -> Opinion:
        return Opinion(-9.0, 0.0, -9.0)

    def open_judge(models: Iterable[object]) -> Judge:
        opened.append(list(models))
        return judge

    monkeypatch.setattr(shared, "open_judge", open_judge)
    finals = {}
    for spoken in ("English", "German"):
        settings = load_settings(None, {"translate": {"from": spoken, "to": spoken}})
        make = Shared(settings, lambda _event: None).sentences()
        assert make is not None
        joined = make(SentencesState("a"))
        for one in partials([["It was late."], ["Nobody came any more."]], stream="a", length_s=1.0):
            joined.hear(one)
        finals[spoken] = [one.text for one in joined.end()]
    assert finals == {"English": ["It was late nobody came any more."], "German": ["Nobody came any more."]}
    assert opened == [[]]
