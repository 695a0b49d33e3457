"""What a live run tells of itself to those who watch it from elsewhere."""

import math
from io import StringIO
from typing import Any

import numpy as np

from connectors.microphone.buffer import Losses
from connectors.terminal.screen import Lines
from connectors.view.status import Status
from flows.observe.live_status import LiveStatus
from flows.observe.watch import Watch
from flows.settings.loading import load_settings
from operators.events import AudioChunk
from operators.models.open_sessions import Usage


class Watching:
    """Remembers the last status and sentence."""

    def __init__(self) -> None:
        self.status = Status(state="")
        self.sentence: str | None = None

    def tell(self, status: Status, sentence: str | None) -> None:
        self.status, self.sentence = status, sentence


def chunk(start_s: float) -> AudioChunk:
    pcm = np.full(1600, 16384, np.int16).tobytes()
    return AudioChunk(stream="microphone", start_s=start_s, pcm=pcm)


def test_the_sentence_about_a_microphone_that_has_gone_stays_until_it_is_heard_again() -> None:
    watching = Watching()
    live = LiveStatus(Lines(StringIO()), lambda: 0.0, watching.tell)
    live.hear(chunk(0.0))
    assert (watching.status.state, watching.sentence) == ("listening", None)
    assert math.isclose(watching.status.level_dbfs or 0.0, -6.0, abs_tol=0.1)
    live.microphone("the microphone has gone; plug it in again")
    assert (watching.status.state, watching.sentence) == (
        "no microphone",
        "the microphone has gone; plug it in again",
    )
    live.hear(chunk(0.1))
    assert (watching.status.state, watching.sentence) == ("listening", None)


def test_trouble_of_the_recogniser_is_told_with_the_next_sound() -> None:
    watching = Watching()
    live = LiveStatus(Lines(StringIO()), lambda: 0.0, watching.tell)
    live.recognizer("the connection is lost; trying again")
    live.hear(chunk(0.0))
    assert (watching.status.state, watching.sentence) == (
        "waiting for the recogniser",
        "the connection is lost; trying again",
    )


def test_a_microphone_that_is_gone_and_what_was_lost_reach_whoever_watches_the_run() -> None:
    raw: dict[str, dict[str, Any]] = {"input": {"microphone": "default"}, "metrics": {"listen": 0}}
    watch = Watch(load_settings(None, raw), lambda: 0, Usage)
    watch.ready()
    live = LiveStatus(Lines(StringIO()), lambda: 0.0, watch=watch)
    live.hear(watch.audio(chunk(0.0)))
    assert watch.health.verdict().is_well
    live.microphone("the microphone is gone; waiting for it")
    assert watch.health.verdict()[1:] == ("source_lost", "the microphone is gone; waiting for it")
    live.lose(Losses(dropped_s=1.0))
    live.lose(Losses(dropped_s=1.5, absent_s=20.0))
    live.hear(watch.audio(chunk(21.5)))
    assert watch.health.verdict().is_well
    value = watch.metrics.registry.get_sample_value
    names = ("audio", "lost_audio", "absent_audio")
    assert [value(f"surtitle_{name}_seconds_total") for name in names] == [0.2, 1.5, 20.0]
