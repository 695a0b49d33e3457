"""Messages as objects, whatever is in them, and from any logger."""

import json
import logging
import re
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest

from connectors.messages import NOTICE, Messages
from connectors.terminal import open_screen
from connectors.view import Status

EVERYBODY = """
import logging, threading, warnings
from connectors.messages import begin_messages, log_event
begin_messages("json")
begin_messages("json")
log_event("web_opened", "captions at http://127.0.0.1/", port=80, lag_s=float("inf"), where={"a": [1, None]})
logging.getLogger("operators.stages.translate").warning(
    "segment %s is long", "s/0", extra={"event": "segment_split", "segment": 0})
logging.getLogger("somebody.else").warning("a library's\\nwarning")
logging.getLogger("somebody.else").info("nobody wants this")
warnings.warn("an old function", DeprecationWarning)
warnings.warn("a user's warning")
thread = threading.Thread(target=lambda: 1 / 0, name="worker")
thread.start()
thread.join()
"""


@pytest.fixture
def written(capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """What is written of a message."""

    def write(**said: Any) -> dict[str, Any]:
        record = {"name": "flows.running", "levelname": "ERROR", "levelno": 40, "event": "progress", **said}
        Messages("json").emit(logging.makeLogRecord(record))
        line = capsys.readouterr().err
        assert line.isascii()
        assert line.count("\n") == 1
        made: dict[str, Any] = json.loads(line)
        return made

    return write


def test_each_message_is_an_object_that_tells_where_it_is_from() -> None:
    done = subprocess.run(
        [sys.executable, "-c", EVERYBODY], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")
    objects = [json.loads(line) for line in done.stderr.splitlines()]
    for one in objects:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", one["time"])
        assert one["level"] in ("info", "notice", "warning", "error", "critical")
    opened, split, *library, died = objects
    fields = {"event": "web_opened", "level": "notice", "port": 80, "lag_s": None, "where": {"a": [1, None]}}
    assert opened.items() >= {**fields, "message": "captions at http://127.0.0.1/"}.items()
    assert split.items() >= {"event": "segment_split", "message": "segment s/0 is long", "segment": 0}.items()
    assert {one["event"] for one in library} == {"library_message"}
    assert [one["logger"] for one in library] == ["somebody.else", "py.warnings", "py.warnings"]
    assert library[0]["message"] == "a library's\nwarning"
    thread = {"event": "thread_error", "in_thread": "worker", "error": "ZeroDivisionError"}
    assert died.items() >= thread.items()
    assert died["traceback"].startswith("Traceback (most recent call last):\n")


def test_no_text_breaks_the_line_or_the_terminal(written: Callable[..., dict[str, Any]]) -> None:
    hostile = "a\nb\r\x1b[2J\x9b\u202e\u2028 \ud83d\x00"
    said = written(msg="%s", args=(hostile,), event="input_error", file=hostile, many={hostile: hostile})
    assert said["message"] == said["file"] == hostile.replace("\ud83d", "?")


def test_what_an_error_quotes_is_neither_obeyed_nor_shows_a_secret(
    capsys: pytest.CaptureFixture[str], written: Callable[..., dict[str, Any]]
) -> None:
    error = ValueError("a defect\x1b[2J\nat http://user:hunter2@host/x?token=5ec2")
    record = {"name": "flows.cli", "msg": "sorry", "exc_info": (ValueError, error, None)}
    Messages("text").emit(logging.makeLogRecord(record))
    for told in (capsys.readouterr().err, written(**record)["traceback"]):
        assert "a defect\\x1b[2J\nat http://host/x" in told
        assert "hunter2" not in told
        assert "5ec2" not in told


def test_what_is_long_is_cut_in_its_middle(written: Callable[..., dict[str, Any]]) -> None:
    said = written(msg="a" + 10**6 * "b" + "c", event="input_error")
    assert len(said["message"]) < 10_000
    assert (said["message"][0], said["message"][-1]) == ("a", "c")


def test_nobody_reading_ends_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = StringIO()
    monkeypatch.setattr(closed, "write", lambda _text: (_ for _ in ()).throw(BrokenPipeError))
    monkeypatch.setattr(sys, "stderr", closed)
    for format in ("json", "text"):
        Messages(format).emit(logging.makeLogRecord({"name": "flows.running.dataflow", "msg": "hello"}))


def test_where_messages_are_json_the_screen_has_captions_alone(caplog: pytest.LogCaptureFixture) -> None:
    out = StringIO()
    screen = open_screen(out=out, is_logged=True)
    with caplog.at_level(logging.INFO, "connectors"):
        screen.notice("a file cannot be written\nfor now")
        screen.status(Status(state="listening"))
    assert [(one.message, one.levelname) for one in caplog.records] == [
        ("a file cannot be written for now", logging.getLevelName(NOTICE))
    ]
    assert out.getvalue() == ""
