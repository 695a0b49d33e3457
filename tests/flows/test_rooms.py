"""Runs of several streams on one model, in the same passes, and the refusal of one stream too many."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flows.captions.graph import build
from flows.captions.parts import make_parts
from flows.running.dataflow import run
from flows.settings.loading import load_settings
from operators.notifications import Observed, PartialHeard
from tests.program import surtitle
from tests.recovering import ToyResources

TALK = (
    ("The city", "The city council", "The city council voted on Tuesday."),
    ("Good", "Good morning, everyone."),
)
ROOMS = ("north", "south", "east", "west")


def partials(rooms: tuple[str, ...] = ROOMS, step_s: float = 0.05) -> list[dict[str, Any]]:
    """All rooms say the same at the same time, but for their names."""
    said = [
        (segment, revision, f"{text} {room}", revision == len(texts) - 1, room)
        for segment, texts in enumerate(TALK)
        for revision, text in enumerate(texts)
        for room in rooms
    ]
    return [
        {
            "event": "partial", "stream": room, "segment": segment, "revision": revision,
            "is_final": is_final, "text": text, "is_sentence": True,
            "start_s": 0.0, "end_s": step_s * number, "arrival_s": step_s * number,
        }
        for number, (segment, revision, text, is_final, room) in enumerate(said)
    ]  # fmt: skip


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    path = tmp_path / "partials.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in partials()))
    return path


def captions(path: Path) -> dict[str, list[tuple[int, int, str]]]:
    shown: dict[str, list[tuple[int, int, str]]] = {}
    for line in path.read_text().splitlines():
        one = json.loads(line)
        shown.setdefault(one["stream"], []).append((one["segment"], one["revision"], one["shown"]))
    return shown


def test_streams_that_are_translated_together_get_what_each_gets_alone(
    talk: Path, small: list[str], tmp_path: Path
) -> None:
    for name, rooms in (
        ("alone", []),
        ("together", ["--set", "translate.rooms=4"]),
        ("waiting", ["--set", "translate.rooms=2"]),
    ):
        done = surtitle("replay", talk, *small, *rooms, "--captions", tmp_path / name, "--quiet")
        assert done.returncode == 0, done.stderr
    together = captions(tmp_path / "together")
    # Who has no place waits for one: a replay has time.
    assert together == captions(tmp_path / "waiting") == captions(tmp_path / "alone")
    assert {room: len(own) for room, own in together.items()} == dict.fromkeys(ROOMS, 5)
    assert any(text for own in together.values() for _, _, text in own)


def test_a_live_stream_too_many_is_refused_in_one_sentence_and_the_others_go_on(
    talk: Path, small: list[str], tmp_path: Path
) -> None:
    options = ("--realtime", "--set", "translate.rooms=3", "--captions", tmp_path / "out")
    done = surtitle("replay", talk, *small, "--quiet", *options)
    assert done.returncode == 3
    first, last = done.stderr.strip().splitlines()
    assert "room 'west' is refused: 3 rooms are open" in first
    assert "5 updates of 1 stream without a place were left out; raise translate.rooms" in last
    finals = {
        room: [one[0] for one in own if one[1] in (1, 2)] for room, own in captions(tmp_path / "out").items()
    }
    assert set(finals) == {"north", "south", "east"}


def test_nobody_waits_for_captions_of_a_stream_that_was_refused(talk: Path) -> None:
    heard: list[Observed] = []
    given: dict[str, dict[str, Any]] = {
        "input": {"partials": str(talk), "realtime": True},
        "translate": {"to": "German", "rooms": 3},
        "output": {"terminal": False},
    }
    parts = make_parts(
        load_settings(None, given), ToyResources, observers=[SimpleNamespace(observe=heard.append)]
    )
    run(build(parts), parts.resources.stop)
    streams = {event.partial.stream for event in heard if isinstance(event, PartialHeard)}
    assert streams == {"north", "south", "east"}
