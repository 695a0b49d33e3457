"""What a live run tells of itself to those who watch it from elsewhere."""

import math
from io import StringIO

import numpy as np

from connectors.terminal.screen import Lines
from connectors.view.status import Status
from flows.observe.live_status import LiveStatus
from operators.events import AudioChunk


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
