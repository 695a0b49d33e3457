"""What viewers in browsers get of a run's events."""

import json
from typing import Any
from urllib.request import urlopen

import pytest
from msgspec import structs

from connectors.messages import NOTICE
from connectors.view import Status
from flows.observe.audience import Audience
from flows.observe.run_observers import Observers
from flows.settings.loading import load_settings
from operators.metrics.erasure import ErasureMeter
from operators.notifications import CaptionShown, RunBegan, RunEnded, SoundLost, UpdateMeasured
from tests.connectors.web.browser import follow
from tests.flows.talk import captions


def audience(web: dict[str, Any] | None = None, **more: Any) -> Audience:
    raw = {"input": {"audio": "talk.wav"}, "web": {"enabled": True, "port": 0, **(web or {})}, **more}
    return Audience(load_settings(None, raw))


def test_captions_figures_and_the_end_are_published() -> None:
    one = audience()
    observers = Observers(one)
    caption = captions()[0]
    observers.observe(SoundLost(1.5, 4.0))
    observers.observe(CaptionShown(caption, 1.0))
    observers.observe(UpdateMeasured(ErasureMeter("13a").record(caption), 1.0))
    one.status(Status(state="no microphone"), "the microphone was disconnected; waiting for it")
    observers.observe(RunEnded())
    with one.served() as address, follow(int(address.rstrip("/").rpartition(":")[2])) as viewer:
        page = viewer.until_over()
    assert page.text == [caption.shown]
    assert page.figures is not None
    assert (page.figures["updates"], page.figures["lost_s"]) == (1, 1.5)
    assert page.state == "no microphone"


def test_as_many_streams_are_remembered_as_there_are_rooms() -> None:
    many = audience(translate={"rooms": 100})
    for number in range(100):
        many.observe(CaptionShown(structs.replace(captions()[0], stream=f"room {number}"), 1.0))
    with many.served() as address, urlopen(f"{address}streams.json") as listed:
        assert {one["name"] for one in json.load(listed)} >= {f"room {number}" for number in range(100)}


def test_whoever_runs_it_is_told_where_when_it_begins_and_a_token_only_when_nobody_else_knows_it(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(NOTICE)
    one = audience()
    monkeypatch.setenv("SURTITLE_WEB_TOKEN", "given-by-the-operator")
    private = audience()
    with one.served() as address:
        assert caplog.messages == []
        one.observe(RunBegan())
        assert caplog.messages == [f"captions at {address}"]
    caplog.clear()
    with private.served() as address:
        private.observe(RunBegan())
        (said,) = caplog.messages
    assert said.startswith(f"captions at {address} for anyone who adds ?token=…")
    assert "given-by" not in said
