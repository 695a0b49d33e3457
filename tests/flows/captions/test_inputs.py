"""The input of a run, and the clock that goes with it."""

import sys
from pathlib import Path
from threading import Event as Flag
from typing import Any

import numpy as np
import pytest
import soundfile

from connectors.jsonl.source import JsonlSource
from connectors.microphone.source import MicrophoneSource
from flows.captions.inputs import Input, make_input
from flows.captions.runner import job
from flows.running.dataflow import ALONE
from flows.settings.loading import load_settings
from operators.clock import VirtualClock, WallClock
from operators.errors import UsageError
from operators.events import AudioChunk, Caption, Partial
from tests.fake_sound import FakeSound, device

CAPTIONS = Path(__file__).parents[2] / "samples" / "captions.jsonl"


def made(**given: Any) -> Input:
    return make_input(load_settings(None, {"input": given}), lambda _event: None, Flag(), ALONE)


def test_a_replay_has_a_clock_of_its_own_and_in_real_time_that_of_its_source() -> None:
    fast, slow = made(partials="a.jsonl"), made(captions="b.jsonl", realtime=True)
    assert (fast.event_type, slow.event_type) == (Partial, Caption)
    assert isinstance(fast.clock, VirtualClock)
    assert isinstance(slow.clock, WallClock)
    assert isinstance(slow.source, JsonlSource)
    assert slow.now() == 0.0
    slow.source.begin(7.0)
    assert slow.now() >= 7.0
    assert slow.clock.done("talk", 0.0, 0.0) >= 7.0


def test_a_microphone_is_found_but_not_opened_until_it_is_heard_and_can_be_let_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sound = FakeSound(device("Laptop Mic"))
    sound.hosts[0]["default_input_device"] = 0
    monkeypatch.setitem(sys.modules, "sounddevice", sound)
    given = made(microphone="default")
    assert given.event_type is AudioChunk
    assert isinstance(given.source, MicrophoneSource)
    assert sound.calls == []
    given.close()
    with pytest.raises(UsageError, match="no such"):
        made(microphone="no such")


@pytest.mark.parametrize(
    ("given", "rooms", "sentence"),
    [
        (
            {"audio": "talk.wav"},
            {},
            "the installed model of moonshine supports English only; choose .* for French",
        ),
        ({"rooms": True}, {}, "the installed model of moonshine supports English only; choose .* for French"),
        ({"rooms": True}, {"from": ["English", "Turkish"]}, "is en-GB, but the spoken language is Turkish"),
    ],
)
def test_a_job_checks_its_recogniser_for_each_spoken_language(
    given: dict[str, Any],
    rooms: dict[str, Any],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    soundfile.write("talk.wav", np.zeros(1600), 16_000)
    azure = {"host": "ws://127.0.0.1:5000", "language": "en-GB"}
    recognize = {"engine": "azure", "azure": azure} if rooms else {"engine": "moonshine"}
    settings = load_settings(
        None,
        {
            "input": given, "rooms": rooms, "recognize": recognize,
            "translate": {"from": "French", "to": "German"}, "web": {"enabled": True},
            "output": {"terminal": False},
        },
    )  # fmt: skip
    with pytest.raises(UsageError, match=sentence):
        job(settings)
