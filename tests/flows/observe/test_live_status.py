"""The status line of a live run, from the events that it receives."""

import math
from io import StringIO

import msgspec
import numpy as np
import pytest
from typing_extensions import override

from connectors.terminal import Screen
from connectors.view import Status
from flows.observe.live_status import RecordingProgress, StatusLine
from flows.observe.run_observers import Observers
from operators.events import AudioChunk, ErasureRecord
from operators.metrics.erasure import ErasureMeter
from operators.notifications import (
    LoadingAt,
    LoadingBegan,
    LoadingEnded,
    OutputChanged,
    RecognizerChanged,
    RecordingAt,
    SoundHeard,
    SoundLost,
    SourceChanged,
    UpdateMeasured,
)
from tests.flows.talk import captions


class SeenStatus(Screen):
    """Remembers each status, in order."""

    def __init__(self) -> None:
        super().__init__(StringIO())
        self.seen: list[Status] = []

    @override
    def status(self, status: Status) -> None:
        self.seen.append(status)


def test_the_position_in_a_recording_is_the_status_of_the_screen() -> None:
    screen = SeenStatus()
    observers = Observers(RecordingProgress(screen))
    observers.observe(RecordingAt(1.5, 60.0))
    observers.observe(RecordingAt(1.6, 0.0))
    assert [(one.state, one.elapsed_s, one.duration_s) for one in screen.seen] == [
        ("translating the recording", 1.5, 60.0),
        ("translating the recording", 1.6, None),
    ]


class SeenByViewers:
    def __init__(self) -> None:
        self.states: list[str] = []

    def status(self, status: Status, _sentence: str | None) -> None:
        self.states.append(status.state)


def status_line() -> StatusLine:
    return StatusLine(SeenStatus(), None)


def heard(at_s: float, amplitude: int = 16384) -> SoundHeard:
    pcm = np.full(1600, amplitude, np.int16).tobytes()
    return SoundHeard(AudioChunk(stream="microphone", start_s=at_s - 0.1, pcm=pcm), at_s)


def told(live: StatusLine) -> tuple[str, str | None]:
    return live.status.state, live.sentence


def record(*, is_final: bool, overtaken: int = 0) -> ErasureRecord:
    made = ErasureMeter("13a").record(captions()[0])
    return msgspec.structs.replace(made, is_final=is_final, overtaken=overtaken)


def test_the_sentence_about_a_microphone_that_has_gone_stays_until_it_is_heard_again() -> None:
    live = status_line()
    live.observe(heard(0.1))
    assert told(live) == ("listening", None)
    assert live.status.level_dbfs == pytest.approx(-6.0, abs=0.1)
    live.observe(heard(0.2, amplitude=0))
    assert live.status.level_dbfs == pytest.approx(-9.0, abs=0.1), "it falls slowly"
    live.observe(SourceChanged("the microphone has gone; plug it in again", 3.0))
    assert told(live) == ("no microphone", "the microphone has gone; plug it in again")
    assert live.status.elapsed_s == 3.0
    live.observe(heard(5.0))
    assert told(live) == ("listening", None)
    assert live.status.elapsed_s == 5.0


def test_viewers_see_that_models_are_loaded_and_the_terminal_shows_a_progress_line() -> None:
    screen, viewers = SeenStatus(), SeenByViewers()
    live = StatusLine(screen, viewers)  # type: ignore[arg-type]  # all that it uses of an audience
    for event in (
        LoadingBegan(),
        LoadingBegan(),
        LoadingAt("loading the model", None),
        LoadingEnded(),
        LoadingEnded(),
    ):
        live.observe(event)
    assert viewers.states == [*["loading models"] * 3, "listening"]
    assert screen.seen == []


def test_trouble_of_the_recogniser_is_shown_until_the_next_caption() -> None:
    live = status_line()
    live.observe(RecognizerChanged("the connection is lost; trying again"))
    live.observe(heard(0.1))
    assert told(live) == ("waiting for the recogniser", "the connection is lost; trying again")
    live.observe(UpdateMeasured(record(is_final=True), 0.5))
    assert told(live) == ("listening", None)


def test_somebody_speaks_for_a_while_after_a_partial_and_no_longer_after_a_final() -> None:
    live = status_line()
    for is_final, states in ((False, ["speech", "listening"]), (True, ["listening", "listening"])):
        live.observe(UpdateMeasured(record(is_final=is_final, overtaken=2), 10.0))
        for at_s, state in zip((11.4, 11.6), states, strict=True):
            live.observe(heard(at_s))
            assert live.status.state == state
    assert live.status.overtaken == 4
    assert live.status.lag_s == pytest.approx(record(is_final=True).latency_from_speech_s)


def test_viewers_see_that_a_file_is_late_but_not_its_name() -> None:
    live = status_line()
    live.observe(OutputChanged("/talks/secret.jsonl", "it cannot be written", True))
    assert told(live)[1] == "a file of this run can no longer be written"
    live.observe(OutputChanged("/talks/secret.jsonl", "it can be written again", False))
    assert told(live)[1] is None


def test_the_line_is_drawn_with_each_sound_and_when_the_microphone_changes() -> None:
    screen = SeenStatus()
    observers = Observers(StatusLine(screen, None))
    observers.observe(heard(0.1))
    observers.observe(UpdateMeasured(record(is_final=False), 0.2))
    observers.observe(SoundLost(1.0, 20.0))
    assert [status.state for status in screen.seen] == ["listening"]
    observers.observe(heard(0.3))
    observers.observe(SourceChanged("the microphone was disconnected; waiting for it", 0.4))
    assert [status.state for status in screen.seen] == ["listening", "speech", "no microphone"]
    assert math.isclose(screen.seen[-1].dropped_s, 1.0)
