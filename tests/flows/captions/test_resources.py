"""The models that workers share, and the reports about their loading."""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from flows.captions import resources
from flows.captions.resources import RunResources
from flows.settings.loading import load_settings
from flows.settings.translate import TranslateSettings
from operators.decoding.drive import Decoder, SequentialDecoder
from operators.errors import InputError
from operators.languages import Direction
from operators.models.pool import SessionPool, Usage
from operators.notifications import LoadingAt, LoadingBegan, LoadingEnded, ModelLoaded, Observed
from operators.sentences.joining import SentencesState
from operators.sentences.seam import BoundaryScorer, BoundaryScores
from operators.serving.scheduler import Scheduler
from operators.serving.service import BatchService, DirectService, Service, ThreadService
from tests.operators.serving.toys import HEAD, Streams, partial, scheduler, translator
from tests.toy import ToyStore


class _Engine:
    """An engine for the given directions on a toy model."""

    def __init__(self, *codes: str) -> None:
        self.prompts = dict.fromkeys(codes)
        self.pool = SimpleNamespace(usage=Usage(1, 4, 10))
        self.store = ToyStore(3)
        self.first = None
        #: Languages of the translators that were made, with their glossaries.
        self.targets: list[tuple[str, Any]] = []

    def sequential_decoder(self) -> Decoder:
        self.store = ToyStore(3)
        return SequentialDecoder(SessionPool(self.store, HEAD, 2))

    def scheduler(self, *, is_hurried: bool) -> Scheduler:  # noqa: ARG002 - a pass costs the same
        return scheduler(2, 16, self.store)

    def translator(self, settings: TranslateSettings, decoder: Decoder) -> Any:
        self.targets.append((settings.target, settings.glossary))
        return translator(decoder, "ssbd")

    @property
    def has_worked(self) -> bool:
        return any(cache.evaluated for cache in self.store.caches[1:])


def test_a_model_is_loaded_once_and_its_loading_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def open_engines(_settings: Any, _directions: Any, progress: Any) -> Any:
        progress("loading the model", 0.5)
        return [_Engine("en-de")]

    monkeypatch.setattr(resources, "open_engines", open_engines)
    told: list[Observed] = []
    one = RunResources(load_settings(None, {"translate": {"to": "German"}}), told.append)
    assert one.service() is one.service()
    *loading, loaded = told
    assert loading == [LoadingBegan(), LoadingAt("loading the model", 0.5), LoadingEnded()]
    assert isinstance(loaded, ModelLoaded)
    assert loaded.usage() == Usage(1, 4, 10)
    # The next recording needs no loading.
    told.clear()
    RunResources(load_settings(None, {"translate": {"to": "German"}}), told.append, earlier=one).service()
    assert [*map(type, told)] == [LoadingBegan, LoadingEnded, ModelLoaded]


def test_a_failed_load_is_reported_as_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def open_engines(*_given: Any) -> Any:
        raise InputError("it is damaged")

    monkeypatch.setattr(resources, "open_engines", open_engines)
    told: list[Observed] = []
    with pytest.raises(InputError, match="it is damaged"):
        RunResources(load_settings(None, {"translate": {"to": "German"}}), told.append).service()
    assert told == [LoadingBegan(), LoadingEnded()]


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({}, DirectService),
        ({"translate": {"rooms": 2}}, ThreadService),
        ({"input": {"audio": "talk.wav"}, "output": {"srt": "talk.srt"}}, BatchService),
    ],
)
def test_a_stream_is_translated_by_the_engine_for_its_languages(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], kind: type[Service]
) -> None:
    german, italian, spanish = (Direction.of("English", to) for to in ("German", "Italian", "Spanish"))
    languages = SimpleNamespace(
        directions=(german, italian, spanish),
        direction=lambda stream, _spoken: Direction.of("English", stream),
    )
    translate = {"to": "German", "glossary": "terms.tsv"} | given.get("translate", {})
    settings = load_settings(None, given | {"translate": translate, "sentences": {"method": "off"}})
    for stream in ("German", "Italian", "Spanish"):
        engines = [_Engine("en-de", "en-it"), _Engine("en-es")]
        monkeypatch.setattr(resources, "open_engines", lambda *_given, engines=engines: engines)
        told: list[Observed] = []
        one = RunResources(settings, told.append, languages)
        one.load()
        service, streams = one.service(), Streams()
        assert isinstance(service, kind)
        streams.submit(service, partial("a b", stream=stream, is_final=True))
        service.finish(streams.queues[stream])
        assert streams.wait(1)[0].partial.stream == stream
        # The glossary is of the first language.
        assert [engine.targets for engine in engines] == [
            [("German", "terms.tsv"), ("Italian", None)], [("Spanish", None)]
        ]  # fmt: skip
        assert [engine.has_worked for engine in engines] == [stream != "Spanish", stream == "Spanish"]
        assert isinstance(told[-1], ModelLoaded)
        assert told[-1].usage() == Usage(2, 8, 20)


def test_only_english_has_a_boundary_scorer_whatever_translates(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []

    def scorer(_before: str, _after: str) -> BoundaryScores:
        return BoundaryScores(-9.0, 0.0, -9.0)

    def open_boundary_scorer(models: Iterable[object]) -> BoundaryScorer:
        opened.append(list(models))
        return scorer

    monkeypatch.setattr(resources, "open_boundary_scorer", open_boundary_scorer)
    finals = {}
    for spoken in ("English", "German"):
        settings = load_settings(None, {"translate": {"from": spoken, "to": spoken}})
        make = RunResources(settings, lambda _event: None).sentences()
        assert make is not None
        joined = make(SentencesState("a"))
        for segment, text in enumerate(("It was late.", "Nobody came any more.")):
            joined.hear(
                replace(
                    partial(text, stream="a", segment=segment, is_final=True),
                    start_s=segment, end_s=segment + 0.9, arrival_s=segment + 1.0,
                )
            )  # fmt: skip
        finals[spoken] = [one.text for one in joined.end()]
    assert finals == {"English": ["It was late nobody came any more."], "German": ["Nobody came any more."]}
    assert opened == [[]]
