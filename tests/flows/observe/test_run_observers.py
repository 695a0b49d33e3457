"""The observers of a run: which ones there are, the events that they get, and their messages to the user."""

import json
import logging
import sys
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from msgspec import structs

from connectors.messages import NOTICE
from connectors.terminal import Screen
from flows.observe.run_observers import Messages, RunObservers
from flows.settings.loading import load_settings
from operators.errors import UsageError
from operators.model_errors import ErrorKind
from operators.notifications import (
    CaptionShown,
    OutputChanged,
    RecognizerChanged,
    RecordingTruncated,
    SourceChanged,
    SpeechCut,
)
from tests.flows.talk import captions
from tests.program import completed


def observers(**raw: dict[str, Any]) -> RunObservers:
    settings = load_settings(None, {"input": {"captions": "talk.jsonl"}, **raw})
    return RunObservers(settings, Screen(StringIO()))


def test_an_invalid_address_is_refused_before_a_port_is_opened() -> None:
    with pytest.raises(UsageError, match=r"is not \[HOST:\]PORT"):
        observers(metrics={"listen": "nowhere:"})


def test_as_many_streams_are_remembered_as_there_are_rooms() -> None:
    made = observers(web={"enabled": True, "port": 0}, translate={"to": "German", "rooms": 100})
    for number in range(100):
        made.observe(CaptionShown(structs.replace(captions()[0], stream=f"room {number}"), 1.0))
    with made.served() as address, urlopen(f"{address}streams.json") as listed:
        assert {one["name"] for one in json.load(listed)} >= {f"room {number}" for number in range(100)}


def test_a_name_that_is_typed_in_a_browser_reaches_the_run() -> None:
    made = observers(web={"enabled": True, "port": 0}, translate={"to": "German"})
    made.observe(CaptionShown(structs.replace(captions()[0], stream="talk", speaker="1"), 1.0))
    with made.served() as address:
        own = {"Origin": str(address).rstrip("/")}
        asked = Request(f"{address}streams/talk/speakers?speaker=1&name=Anna", headers=own, method="POST")
        with urlopen(asked) as answer:
            assert answer.status == 204
    assert made.namings.take("talk") == {"1": "Anna"}
    assert made.namings.take("talk") == {}


CAPTIONS = str(Path(__file__).parents[2] / "samples" / "captions.jsonl")
# A defect of ours in what looks on.
BROKEN = """
import sys
from flows.cli import app as cli
from flows.observe.summary import Profile
def observe(*_arguments):
    raise KeyError("a defect")
Profile.observe = observe
sys.argv = ["surtitle", "replay", sys.argv[1], "--set", "run.profile=true"]
cli.main()
"""


def test_an_observer_that_fails_loses_no_caption_and_is_reported_at_the_end() -> None:
    done = completed([sys.executable, "-c", BROKEN, CAPTIONS], timeout=120)
    assert done.returncode == 70
    assert "segments  4 of 11 updates" in done.stdout
    assert done.stderr.count("Traceback") == 1
    assert "surtitle: Profile failed and is not used any more; captions continue" in done.stderr
    assert done.stderr.endswith("please report the lines above\n")


def test_events_are_logged_at_once_with_their_names(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    messages = Messages()
    for event in (
        SourceChanged("the microphone is gone", 1.0),
        RecognizerChanged("the connection is lost"),
        SpeechCut("a text was cut"),
        SpeechCut("another text was cut"),
        OutputChanged("log.jsonl", "log.jsonl cannot be written", True),
        OutputChanged("log.jsonl", "log.jsonl can be written again", False),
    ):
        messages.observe(event)
    for number, trouble in enumerate((None, ErrorKind.EMPTY, ErrorKind.EMPTY, None)):
        messages.model_answered(trouble, f"segment talk/{number}")
    assert [vars(record)["event"] for record in caplog.records] == [
        "source_changed", "recognizer_changed", "speech_cut", "write_failed",
        "write_recovered", "model_trouble",
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


def test_defects_of_the_input_are_reported_at_the_end(caplog: pytest.LogCaptureFixture) -> None:
    messages = Messages()
    messages.observe(RecordingTruncated("talk.wav ends after 3.2 s"))
    messages.model_answered(ErrorKind.FAILED_PASS, "segment talk/0")
    truncated, broken = messages.complaints()
    assert truncated == "talk.wav ends after 3.2 s"
    assert "no answer to the last update" in broken
    assert not any("talk.wav" in message for message in caplog.messages)
