"""The models that workers share, and what is told of their loading."""

from types import SimpleNamespace
from typing import Any

import pytest

from flows.captions import shared
from flows.captions.shared import Shared
from flows.settings.loading import load_settings
from flows.settings.schema import TranslateSettings
from operators.errors import InputError
from operators.languages import Direction
from operators.models.open_sessions import Usage
from operators.observed import LoadingAt, LoadingBegan, LoadingEnded, ModelLoaded, Observed


def test_a_model_is_loaded_once_and_its_loading_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def open_engine(_settings: Any, progress: Any, _directions: Any) -> Any:
        progress("loading the model", 0.5)
        pool = SimpleNamespace(usage=Usage(1, 4, 10))
        return SimpleNamespace(
            pool=pool, one_at_a_time=lambda: None, translator=lambda _settings, _decoder: object()
        )

    monkeypatch.setattr(shared, "open_engine", open_engine)
    told: list[Observed] = []
    one = Shared(load_settings(None), told.append)
    assert one.translator() is one.translator()
    *loading, loaded = told
    assert loading == [LoadingBegan(), LoadingAt("loading the model", 0.5), LoadingEnded()]
    assert isinstance(loaded, ModelLoaded)
    assert loaded.usage() == Usage(1, 4, 10)


def test_a_model_that_cannot_be_loaded_is_not_being_loaded_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def open_engine(*_given: Any) -> Any:
        raise InputError("it is damaged")

    monkeypatch.setattr(shared, "open_engine", open_engine)
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
    engine: Any = SimpleNamespace(translator=translator)
    one._translates(engine, SimpleNamespace())
    assert [(each.target, each.glossary) for each in opened] == [("German", "terms.tsv"), ("French", None)]
