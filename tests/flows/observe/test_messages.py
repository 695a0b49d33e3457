"""What the user is told of a run's events."""

import logging

import pytest

from connectors.messages.log import NOTICE
from flows.observe.observer import Observers
from flows.observe.run_observers import Messages
from operators.observed import (
    MicrophoneChanged,
    ModelAnswered,
    Observed,
    OutputChanged,
    RecognizerChanged,
    RecordingTruncated,
    SpeechCut,
)
from operators.trouble import Trouble


def told(caplog: pytest.LogCaptureFixture, *events: Observed) -> Messages:
    caplog.set_level(logging.INFO)
    messages = Messages()
    observers = Observers(messages)
    for event in events:
        observers.observe(event)
    return messages


def test_what_happens_is_told_at_once_under_its_own_name(caplog: pytest.LogCaptureFixture) -> None:
    messages = told(
        caplog,
        MicrophoneChanged("the microphone is gone", 1.0),
        RecognizerChanged("the connection is lost"),
        SpeechCut("a text was cut"),
        SpeechCut("another text was cut"),
        OutputChanged("log.jsonl", "log.jsonl cannot be written", True),
        OutputChanged("log.jsonl", "log.jsonl can be written again", False),
        ModelAnswered(None, "segment talk/0"),
        ModelAnswered(Trouble.EMPTY, "segment talk/1"),
        ModelAnswered(Trouble.EMPTY, "segment talk/2"),
        ModelAnswered(None, "segment talk/3"),
    )
    assert [vars(record)["event"] for record in caplog.records] == [
        "microphone_changed", "recognizer_changed", "speech_cut", "write_failed", "write_recovered",
        "model_trouble",
    ]  # fmt: skip
    assert {record.levelno for record in caplog.records} == {NOTICE}
    assert caplog.messages[:3] == [
        "the microphone is gone",
        "the connection is lost",
        "a text was cut; further cases are only counted",
    ]
    assert vars(caplog.records[3])["output"] == "log.jsonl"
    assert "segment talk/1" in caplog.messages[-1]
    assert messages.complaints() == []


def test_what_was_wrong_with_what_came_in_is_kept_for_the_end(caplog: pytest.LogCaptureFixture) -> None:
    messages = told(
        caplog,
        RecordingTruncated("talk.wav ends after 3.2 s"),
        ModelAnswered(Trouble.FAILED_PASS, "segment talk/0"),
    )
    truncated, broken = messages.complaints()
    assert truncated == "talk.wav ends after 3.2 s"
    assert "no answer to the last update" in broken
    assert not any("talk.wav" in message for message in caplog.messages)
