"""How far a recording, or the loading of a model, is."""

import logging

import pytest

from flows.observe.observer import Observers
from flows.observe.progress import RecordingProgress
from flows.running.waiting import Waiting
from operators.observed import LoadingAt, RecordingAt
from tests.flows.observe.seen import SeenStatus


def test_the_position_in_a_recording_is_the_status_of_the_screen() -> None:
    screen = SeenStatus()
    observers = Observers(RecordingProgress(screen))
    observers.observe(RecordingAt(1.5, 60.0))
    observers.observe(RecordingAt(1.6, 0.0))
    assert [(one.state, one.elapsed_s, one.duration_s) for one in screen.seen] == [
        ("translating the recording", 1.5, 60.0),
        ("translating the recording", 1.6, None),
    ]


def test_each_wait_is_said_once_however_often_it_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with Waiting(quiet=True, captions=False) as waiting:
        observers = Observers(waiting)
        for fraction in (None, 0.5, 1.0):
            observers.observe(LoadingAt("loading the model", fraction))
        observers.observe(RecordingAt(0.0, 0.0))
        observers.observe(RecordingAt(1.0, 10.0))
        observers.observe(RecordingAt(2.0, 10.0))
    assert not observers.have_failed
    assert caplog.messages == ["loading the model", "translating the recording"]
