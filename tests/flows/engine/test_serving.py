"""The engine with many streams: what comes at the same time is translated together, as each is alone."""

from pathlib import Path
from typing import Any

import pytest

from flows.engine import translation
from flows.engine.language_model import beams
from flows.engine.translation import Engine, open_engine, open_engines
from flows.settings.loading import load_settings
from flows.settings.translate import TranslateSettings
from operators.languages import Direction
from operators.serving.service import ModelQueue
from tests.flows.engine.segments import TEXTS, pieces_of
from tests.operators.serving.toys import Streams, partial
from tests.tiny_gguf import pieces, write_model
from tests.tiny_kinds import write_kind


def settings(model: Path, **given: Any) -> TranslateSettings:
    common = {"model": str(model), "threads": 1, "max_source": 16, "bias": 0.0, "commit": 0}
    return load_settings(None, {"translate": {"to": "German", **common, **given}}).translate


def at_once(engine: Engine, shared: TranslateSettings) -> dict[str, list[tuple[str, ...]]]:
    """The captions of three streams that speak at the same time."""
    scheduler = engine.scheduler(is_hurried=True)
    translator = engine.translator(shared, scheduler)
    model, streams = ModelQueue(scheduler, lambda _update: translator), Streams(keep_up=False)
    for stream, texts in TEXTS.items():
        for number, text in enumerate(texts):
            streams.put(model, partial(text, stream=stream, is_final=number == len(texts) - 1))
    made: dict[str, list[tuple[str, ...]]] = {stream: [] for stream in TEXTS}
    for one in streams.finish(model):
        assert one.output.trouble is None or not one.output.trouble.is_loss
        made[one.partial.stream].append(one.output.pieces)
    return made


@pytest.mark.parametrize(("kind", "method"), [("llama", "ssbd"), ("llama", "recycle"), ("lfm2", "ssbd")])
def test_rooms_get_what_each_gets_alone_with_every_kind_of_memory(
    tmp_path: Path, kind: str, method: str
) -> None:
    path = tmp_path / "model.gguf"
    write_model(path, pieces({})) if kind == "llama" else write_kind(path, kind)
    plain, shared = settings(path, method=method), settings(path, method=method, rooms=3)
    alone = open_engine(plain).translator(plain)
    engine = open_engine(shared)
    got = at_once(engine, shared)
    assert got == pieces_of(alone)
    assert any(pieces for made in got.values() for pieces in made)


@pytest.mark.long
def test_a_draft_model_drafts_for_rooms_too(tmp_path: Path) -> None:
    model = write_model(tmp_path / "model.gguf", pieces({}))
    draft = write_model(tmp_path / "draft.gguf", pieces({}), seed=1)
    plain = settings(model)
    shared = settings(model, rooms=3, draft_model=str(draft), draft_tree=True, draft_threshold=0.05)
    alone = open_engine(plain).translator(plain)
    engine = open_engine(shared)
    got = at_once(engine, shared)
    assert got == pieces_of(alone)


@pytest.mark.parametrize(("sessions", "width"), [(1, 4), (42, 4), (50, 3), (63, 2), (64, 0)])
def test_the_more_sessions_the_fewer_hypotheses_each_can_search(sessions: int, width: int) -> None:
    assert beams(settings(Path("model.gguf"), sessions=sessions, commit=1), heads=1) == width


def test_each_model_has_sessions_for_all_rooms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    german, spanish, french = (Direction.of("English", to) for to in ("German", "Spanish", "French"))
    models = [
        (str(write_model(tmp_path / name, pieces({}))), own)
        for name, own in (("one.gguf", [german]), ("two.gguf", [spanish, french]))
    ]
    directions = [german, spanish, french]
    monkeypatch.setattr(translation, "models_for", lambda _named: models)
    engines = open_engines(settings(Path("default"), rooms=9), directions)
    assert [list(engine.prompts) for engine in engines] == [["en-de"], ["en-es", "en-fr"]]
    assert [engine.path.name for engine in engines] == ["one.gguf", "two.gguf"]
    assert [engine.pool.usage.most_sessions for engine in engines] == [9, 9]
