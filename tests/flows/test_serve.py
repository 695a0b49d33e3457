"""``surtitle serve`` from end to end: real speech into rooms that share one model, and into a browser."""

import json
import re
import threading
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from playwright.sync_api import expect
from websockets.sync.client import connect

from flows.observe.audience import room_registry
from flows.settings.loading import load_settings
from operators.errors import UsageError
from tests.browser import complaints, open_browser
from tests.flows.serving import Run, running
from tests.flows.talk import read
from tests.program import SURTITLE, completed, surtitle

#: A recording at its own pace, in pieces as a browser sends them.
PIECE, PIECE_S = 3200, 0.1
SAID = "tried failed matter again"


def serve(*options: object) -> AbstractContextManager[Run]:
    return running(SURTITLE, "serve", "--port", "0", "--set", "translate.threads=2", *options)


def speak(port: int, recording: Path, heard: list[dict[str, Any]], **opening: str) -> None:
    """Send a recording to a room of its own, and keep all that comes back."""
    pcm = soundfile.read(recording, dtype="int16")[0].tobytes()
    with connect(f"ws://127.0.0.1:{port}/rooms", max_size=None) as socket:
        socket.send(json.dumps({"type": "open", **opening}))
        for at in range(0, len(pcm), PIECE):
            socket.send(pcm[at : at + PIECE])
            time.sleep(PIECE_S)
        socket.send('{"type": "end"}')
        heard.extend(json.loads(message) for message in socket)
        assert socket.close_code == 1000


def speak_at_once(port: int, recording: Path, rooms: dict[str, list[dict[str, Any]]]) -> None:
    """Send a recording to a room for each language, and keep what comes back of each."""
    speakers = [
        threading.Thread(target=speak, args=(port, recording, heard), kwargs={"room": to, "to": to})
        for to, heard in rooms.items()
    ]
    for speaker in speakers:
        speaker.start()
    for speaker in speakers:
        speaker.join(120)


def finals(path: Path, room: str) -> list[dict[str, Any]]:
    return [one for one in read(path) if one["is_final"] and one["stream"].startswith(f"{room}.")]


def replayed(sentences: Path, stream: str, to: str) -> list[tuple[int, int, str]]:
    """What is shown of one stream if its sentences alone are translated into one language."""
    own, captions = sentences.with_name(f"{to}.jsonl"), sentences.with_name(f"{to}-captions.jsonl")
    lines = sentences.read_text().splitlines(keepends=True)
    own.write_text("".join(line for line in lines if json.loads(line)["stream"] == stream))
    completed(
        [SURTITLE, "replay", str(own), "--to", to, "--set", "translate.threads=2",
        "--captions", str(captions)],
        check=True,
    )  # fmt: skip
    return updates(captions, stream)


def updates(captions: Path, stream: str) -> list[tuple[int, int, str]]:
    made = read(captions)
    return [(one["segment"], one["revision"], one["shown"]) for one in made if one["stream"] == stream]


def test_rooms_in_different_languages_get_the_captions_of_the_model_for_their_language(
    speech: Path, tmp_path: Path
) -> None:
    written, sentences = tmp_path / "captions.jsonl", tmp_path / "sentences.jsonl"
    samples, rate = soundfile.read(speech, dtype="int16")
    soundfile.write(tmp_path / "short.wav", samples[: 3 * rate], rate)
    rooms: dict[str, list[dict[str, Any]]] = {"German": [], "Spanish": []}
    options = ("--set", "translate.rooms=2", "--captions", written, "--set", f"output.sentences={sentences}")
    with serve("--to", "German,Spanish", "--model", "captions", *options) as server:
        speak_at_once(server.port, speech, rooms)
        # Later, because shared passes differ in rounding.
        speak(server.port, tmp_path / "short.wav", [], room="both", to="German,Spanish")
        code, _, stderr = server.interrupt()
    assert (code, stderr) == (0, "")
    both = [(one["segment"], one["language"]) for one in finals(written, "both")]
    assert len(both) >= 2
    assert sorted(both) == [(segment, code) for segment in sorted(dict(both)) for code in ("de", "es")]
    for to, heard in rooms.items():
        shown = finals(written, to)
        words = re.findall(r"\w+", " ".join(one["source"] for one in shown).lower())
        assert sum(word in words for word in SAID.split()) >= 3
        # With gaps where segments were joined.
        numbers = [one["segment"] for one in shown]
        assert numbers == sorted({0, *numbers})
        last = {one["segment"]: one for one in heard if one["type"] == "update"}
        assert len(last) == len(shown)
        assert all(one["final"] for one in last.values())
        # Figures come when they like.
        assert [one["type"] for one in heard if one["type"] != "figures"][-1] == "end"
        # The model for German and the one for Spanish have different tokens, so neither can stand in for the
        # other, and the base model writes other captions than both.
        stream = shown[0]["stream"]
        assert replayed(sentences, stream, to) == updates(written, stream)


def test_a_browser_speaks_and_another_one_reads_along(speech: Path, small: list[str], tmp_path: Path) -> None:
    microphone, written = tmp_path / "microphone.wav", tmp_path / "captions.jsonl"
    samples, rate = soundfile.read(speech, dtype="int16")
    # As most microphones, at another rate than the recogniser wants.
    soundfile.write(microphone, np.repeat(samples, 3), 3 * rate)
    with (
        serve("--to", "German", "--captions", written, "--set", "translate.rooms=1", *small) as server,
        open_browser(microphone) as browser,
    ):
        context = browser.new_context(permissions=["microphone"])
        page = context.new_page()
        said = complaints(page)
        page.goto(f"http://127.0.0.1:{server.port}/")
        page.get_by_label("Name of the room").fill("Great hall")
        page.get_by_role("button", name="Start speaking").click()
        expect(page.locator("#captions .source").first).to_contain_text("ried", timeout=60_000)
        link = page.locator("#share").get_attribute("data-address")
        assert link is not None
        reader = browser.new_context().new_page()
        reader.goto(link)
        expect(reader.locator("#captions .text").first).to_be_attached()
        page.get_by_role("button", name="Stop").click()
        expect(page.locator("#state-words")).to_have_text("not speaking", timeout=60_000)
        expect(reader.locator("#state-words")).to_have_text("ended")
        shown = page.locator("#captions .text").all_text_contents()
        assert reader.locator("#captions .text").all_text_contents() == shown
        assert [one for one in said if not one.startswith(f"http://127.0.0.1:{server.port}/")] == []
        code, _, stderr = server.interrupt()
    assert (code, stderr) == (0, "")
    assert [one["shown"] for one in finals(written, "Great hall")] == shown


def test_finals_that_a_speaker_saw_are_in_the_folder_however_the_server_ends(
    speech: Path, small: list[str], tmp_path: Path
) -> None:
    folder, pcm = tmp_path / "rooms", soundfile.read(speech, dtype="int16")[0].tobytes()

    def written() -> dict[str, list[int]]:
        return {
            path.name: [json.loads(line)["segment"] for line in path.read_text().splitlines()]
            for path in folder.glob("*.jsonl")
        }

    for is_killed in (True, False):
        before = written()
        with serve(
            "--to", "German", "--set", f"rooms.folder={folder}", "--set", "sentences.method=rules", *small
        ) as server:
            with connect(f"ws://127.0.0.1:{server.port}/rooms", max_size=None) as socket:
                socket.send('{"type": "open", "room": "Great hall"}')
                stream = json.loads(socket.recv())["stream"]
                for at in range(0, len(pcm), PIECE):
                    socket.send(pcm[at : at + PIECE])
                seen: list[int] = []
                while len(seen) < 2:
                    message = json.loads(socket.recv(60))
                    if message["type"] == "update" and message["final"]:
                        seen.append(message["segment"])
            if is_killed:
                server.process.kill()
                server.process.wait()
            else:
                assert server.interrupt()[0] == 0
        assert written()[f"{stream}.jsonl"][: len(seen)] == seen
        assert {name: lines for name, lines in written().items() if name in before} == before
    cues = (folder / f"{stream}.vtt").read_text()
    assert cues.startswith("WEBVTT")
    assert cues.count("-->") >= 2


def test_a_room_in_two_languages_has_each_sentence_in_both(speech: Path, tmp_path: Path) -> None:
    both, heard = ("--from", "English,Portuguese", "--to", "English,Portuguese"), list[dict[str, Any]]()
    with serve(*both, "--set", f"rooms.folder={tmp_path}") as server:
        speak(server.port, speech, heard, room="hall", **{"from": "en,pt", "to": "en,pt"})
    english, portuguese = (read(next(tmp_path.glob(f"hall.*.{code}.jsonl"))) for code in ("en", "pt"))
    assert [one["spoken"] for one in english] == ["en"] * len(english)
    assert [one["shown"] for one in english] == [one["source"] for one in english]
    assert [one["source"] for one in portuguese] == [one["source"] for one in english]
    assert all(one["shown"] != one["source"] for one in portuguese)


def test_a_room_that_is_kept_has_its_links_after_a_server_was_killed(
    small: list[str], tmp_path: Path
) -> None:
    keys = tmp_path / "rooms"
    opened: list[dict[str, str]] = []
    for again in (False, True):
        with (
            serve("--to", "German", "--set", f"rooms.keys={keys}", *small) as server,
            connect(f"ws://127.0.0.1:{server.port}/rooms") as socket,
        ):
            key = {"key": opened[0]["key"]} if again else {}
            socket.send(json.dumps({"type": "open", "room": "Great hall", **key}))
            opened.append(json.loads(socket.recv(60)))
            server.process.kill()
            server.process.wait()
    assert all(one["stream"].startswith("Great hall.") for one in opened)
    assert opened[0]["key"] == opened[1]["key"]
    assert opened[0]["view"] == opened[1]["view"]
    keys.write_text("hall\n")
    done = surtitle("serve", "--to", "German", "--port", "0", "--set", f"rooms.keys={keys}", *small)
    assert done.returncode == 2
    assert done.stderr == (
        f"surtitle: {keys}: line 1 is not a room and its key; remove it: the room gets a new link\n"
    )


def test_a_server_whose_recogniser_cannot_be_loaded_ends_before_anybody_speaks(
    small: list[str], tmp_path: Path
) -> None:
    missing = tmp_path / "missing"
    done = surtitle("serve", "--to", "German", "--port", "0", "--speech-model", missing, *small)
    assert done.returncode == 3
    # It has not said where captions are.
    assert done.stderr.startswith(f"surtitle: {missing}: there is no such folder")
    assert done.stderr.count("\n") == 1


def test_settings_that_cannot_be_served_are_one_sentence() -> None:
    rooms = {"from": ["English", "German"], "to": ["French"]}
    with pytest.raises(UsageError, match="moonshine recognises one language; name only that one"):
        room_registry(load_settings(None, {"rooms": rooms, "recognize": {"engine": "moonshine"}}))
    with pytest.raises(UsageError, match="rooms end with their server and cannot be resumed"):
        room_registry(load_settings(None, {"translate": {"to": "German"}, "recovery": {"folder": "run"}}))
