"""Who speaks, from end to end: real speech of two voices, real weights, and a process of its own."""

import threading
from collections import defaultdict
from collections.abc import Sequence
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import soundfile

from operators.events import SAMPLE_RATE
from tests.flows.serving import Run, running
from tests.flows.talk import read
from tests.flows.test_serve import finals, serve, speak
from tests.operators.recognizers.speaking import pcm
from tests.program import SURTITLE, surtitle
from tests.waiting import size, until, wait_for

#: How fast the recorded voice is played, which makes two voices of it.
DEEP, HIGH = 0.85, 1.25


class Turn(NamedTuple):
    """What a voice says: a part of the recording, in seconds."""

    voice: float
    start_s: float
    end_s: float


#: The voice that is heard second is the first one in the second half.
TURNS = (Turn(DEEP, 0, 5), Turn(HIGH, 0, 5), Turn(HIGH, 11, 22), Turn(DEEP, 11, 22), Turn(HIGH, 22, 33))


def said(turn: Turn) -> np.ndarray[Any, np.dtype[np.int16]]:
    whole = np.frombuffer(pcm("two_cities.wav"), "<i2")
    part = whole[round(turn.start_s * SAMPLE_RATE) : round(turn.end_s * SAMPLE_RATE)]
    played = np.interp(np.arange(0, len(part) - 1, turn.voice), np.arange(len(part)), part)
    return np.asarray(played, np.int16)


def record(path: Path, turns: Sequence[Turn]) -> dict[float, Turn]:
    """Write a recording, with a pause after each turn; the turns by when they end."""
    parts, at_s = [], 0.0
    ends: dict[float, Turn] = {}
    for turn in turns:
        parts += [said(turn), np.zeros(SAMPLE_RATE, np.int16)]
        at_s += sum(map(len, parts[-2:])) / SAMPLE_RATE
        ends[at_s] = turn
    soundfile.write(path, np.concatenate(parts), SAMPLE_RATE)
    return ends


def speakers(captions: Sequence[dict[str, Any]], ends: dict[float, Turn]) -> list[set[str]]:
    """Who speaks in each turn, by the finals whose middle is in it."""
    found = defaultdict[float, set[str]](set)
    for one in captions:
        if one["is_final"]:
            middle_s = (one["start_s"] + one["end_s"]) / 2
            found[min(end_s for end_s in ends if end_s > middle_s)].add(one.get("speaker", ""))
    return [found[end_s] for end_s in ends]


def name(run: Run, speaker: str, called: str) -> int:
    """Name a voice in the control room; the status of the answer."""
    connection = HTTPConnection("127.0.0.1", run.port, timeout=60)
    origin = {"Origin": f"http://127.0.0.1:{run.port}"}
    connection.request("POST", f"/streams/talk/speakers?speaker={speaker}&name={called}", headers=origin)
    status = connection.getresponse().status
    connection.close()
    return status


def test_voices_of_a_run_that_was_killed_keep_their_numbers_and_names(tmp_path: Path) -> None:
    ends, written = record(tmp_path / "talk.wav", TURNS), tmp_path / "captions.jsonl"
    command = (
        "file", tmp_path / "talk.wav", "--captions-only", "--speakers", "--captions", written, "--quiet",
        "--recovery", tmp_path / "recovery", "--set", "recovery.interval_s=0.05",
        # With viewers, updates would be captioned, and without, finals alone.
        "--set", "translate.finals_only=false",
    )  # fmt: skip
    with running(SURTITLE, *command, "--port", 0) as run:
        until(lambda: name(run, "2", "Ben") == 204)
        wait_for(written, '"speaker":"Ben"')
        before = size(written)
        # What was there before anything else is in a snapshot.
        until(lambda: size(written) > before)
        run.process.kill()
        run.process.wait()
    assert read(written)[-1]["end_s"] < list(ends)[3], "it was over too early"
    done = surtitle(*command)
    assert done.returncode == 0, done.stderr
    deep, high, again, *later = speakers(read(written), ends)
    assert (deep, high | again, later) == ({"1"}, {"2", "Ben"} & (high | again), [{"1"}, {"Ben"}])


def test_voices_that_are_known_have_their_names_from_the_first_sentence_on(tmp_path: Path) -> None:
    ends, names = record(tmp_path / "talk.wav", TURNS[:4]), tmp_path / "names.tsv"
    for voice, called in ((HIGH, "Ben"), (DEEP, "Anna Müller")):
        record(tmp_path / f"{called}.wav", [Turn(voice, 22, 33)])
        with names.open("a", encoding="utf-8") as file:
            file.write(f"{called}\t{called}.wav\n")
    written = tmp_path / "captions.jsonl"
    asked = ("--captions-only", "--speaker-names", names, "--captions", written, "--quiet")
    done = surtitle("file", tmp_path / "talk.wav", *asked)
    assert (done.returncode, done.stderr) == (0, "")
    assert speakers(read(written), ends) == [{"Anna Müller"}, {"Ben"}, {"Ben"}, {"Anna Müller"}]


def test_each_room_has_voices_of_its_own(tmp_path: Path) -> None:
    written = tmp_path / "captions.jsonl"
    rooms = {"deep": DEEP, "high": HIGH}
    for room, voice in rooms.items():
        record(tmp_path / f"{room}.wav", [Turn(voice, 0, 5)])
    heard: dict[str, list[dict[str, Any]]] = {room: [] for room in rooms}
    with serve("--captions-only", "--speakers", "--captions", written) as server:
        speaking = [
            threading.Thread(
                target=speak, args=(server.port, tmp_path / f"{room}.wav", heard[room]), kwargs={"room": room}
            )
            for room in rooms
        ]
        for one in speaking:
            one.start()
        for one in speaking:
            one.join(120)
        assert server.interrupt()[0] == 0
    for room in rooms:
        assert {one.get("speaker") for one in finals(written, room)} == {"1"}


def test_the_one_speaker_of_a_room_is_called_like_the_room(speech: Path, tmp_path: Path) -> None:
    written = tmp_path / "captions.jsonl"
    heard: list[dict[str, Any]] = []
    with serve("--captions-only", "--speakers", "1", "--captions", written) as server:
        speak(server.port, speech, heard, room="Great hall")
        assert server.interrupt()[0] == 0
    assert {one.get("speaker") for one in finals(written, "Great hall")} == {"Great hall"}
    shown = [one["speakers"] for one in heard if one["type"] == "speakers"]
    assert shown == [[{"speaker": "Great hall", "name": "Great hall"}]]
