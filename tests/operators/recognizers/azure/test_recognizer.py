"""Azure's recogniser, by the real SDK, against a service on loopback: what it hears, sends and leaves."""

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from operators.events import SAMPLE_RATE, AudioChunk
from operators.recognizers.protocol import Hypothesis
from tests.operators.recognizers.azure.server import KEY, Listener, Session, chunks, running, say
from tests.program import ROOT

TALK = say([1, 2, 3], [4, 5], [6])
SAID = ["w1 w2 w3", "w4 w5", "w6"]


def segments(heard: list[Hypothesis]) -> dict[int, list[Hypothesis]]:
    """The updates of each segment; checks what holds for all of them."""
    by_segment: dict[int, list[Hypothesis]] = {}
    for hypothesis in heard:
        by_segment.setdefault(hypothesis.segment, []).append(hypothesis)
    for updates in by_segment.values():
        assert [update.is_final for update in updates] == [False] * (len(updates) - 1) + [True]
        assert len({update.start_s for update in updates}) == 1
        assert all(one.end_s <= other.end_s for one, other in pairwise(updates))
    assert list(by_segment) == sorted(by_segment)
    return by_segment


def test_an_utterance_is_a_segment_with_updates_and_a_final() -> None:
    with running() as server:
        listener = Listener(server)
        assert listener.recognizer.finish() == []
        assert server.handshakes == 0, "nothing is sent before the first chunk"
        # Chunks may be empty.
        nothing = AudioChunk(stream="talk", start_s=0.0, pcm=b"")
        last = AudioChunk(stream="talk", start_s=len(TALK) / 2 / SAMPLE_RATE, pcm=b"", is_last=True)
        listener.hear([nothing, *chunks(TALK), last], pace_s=0.02)
        by_segment = segments(listener.finish())

    assert listener.finals == SAID
    assert list(by_segment) == [0, 1, 2]
    assert all(len(updates) > 1 for updates in by_segment.values())
    assert listener.told == [f"connected to Azure, {server.url}"]


def test_times_are_on_the_clock_of_the_chunks_gaps_included() -> None:
    with running() as server:
        listener = Listener(server)
        listener.hear(chunks(say([1, 2]), start_s=100.0) + chunks(say([3]), start_s=200.0))
        first, second = (updates[-1] for updates in segments(listener.finish()).values())
    assert (first.start_s, first.end_s) == pytest.approx((100.2, 100.7))
    assert (second.start_s, second.end_s) == pytest.approx((200.2, 200.45))


def test_the_service_gets_the_key_the_language_and_the_audio_and_nothing_of_the_user() -> None:
    with running() as server:
        listener = Listener(server, language="de-DE")
        listener.hear(chunks(TALK))
        listener.finish()
        [session] = server.sessions

    assert session.headers["Ocp-Apim-Subscription-Key"] == KEY
    assert "language=de-DE" in session.path
    assert bytes(session.audio).rstrip(b"\0") == TALK.rstrip(b"\0")
    sent = f"{session.texts} {session.headers}"
    assert not says(sent, os.uname().nodename)
    assert not says(sent, Path.home().name)


def says(sent: str, name: str) -> bool:
    """Whether a name stands in what was sent, and is not by chance a part of a random key in base64."""
    return re.search(rf"(?<![\w+/=]){re.escape(name)}(?![\w+/=])", sent) is not None


def test_a_service_of_ones_own_may_want_no_key() -> None:
    with running() as server:
        listener = Listener(server, host=None, endpoint=f"{server.url}/own/path", key=None)
        listener.hear(chunks(TALK))
        listener.finish()
        [session] = server.sessions
    assert listener.finals == SAID
    assert session.path.startswith("/own/path")
    assert not session.headers.get("Ocp-Apim-Subscription-Key")


def test_an_utterance_that_lost_its_text_keeps_the_number_and_is_over() -> None:
    def mumble(session: Session) -> None:
        session.hear(1.0)
        session.hypothesis("hm", 0.2, 0.3)
        session.phrase("", 0.2, 0.3, status="NoMatch")
        session.hypothesis("well", 0.6, 0.3)
        session.recognize()

    with running(mumble) as server:
        listener = Listener(server)
        listener.hear(chunks(bytes(3 * 2 * SAMPLE_RATE)))
        heard = listener.finish()

    said = [(0, "hm", False), (0, "", True), (1, "well", False), (1, "well", True)]
    assert [(one.segment, one.text, one.is_final) for one in heard] == said


def test_recognisers_leave_no_threads_and_no_open_files_behind() -> None:
    def live() -> tuple[int, int]:
        return len(list(Path("/proc/self/task").iterdir())), len(list(Path("/proc/self/fd").iterdir()))

    with running(Session.recognize) as server:
        counts = []
        for number in range(21):
            listener = Listener(server)
            listener.hear(chunks(say([number])), pace_s=0.0)
            server.wait_for_session(number + 1)
            # Some are closed in the middle of everything.
            listener.finish() if number % 2 else listener.recognizer.close()
            server.sessions[number].over.wait(60)
            counts.append(live())

    # The SDK and the server have some for as long as they live, and end others a moment later.
    assert all(now <= before + 4 for now, before in zip(counts[-1], counts[1], strict=True)), counts


def test_a_process_that_forgets_to_close_ends_all_the_same() -> None:
    program = (
        "from tests.operators.recognizers.azure.server import Listener, chunks, say\n"
        "import sys\n"
        "class Elsewhere: url = sys.argv[1]\n"
        "listener = Listener(Elsewhere())\n"
        "listener.hear(chunks(say([1, 2])))\n"
        "listener.wait_until(lambda: listener.told)\n"
    )
    with running() as server:
        done = subprocess.run(
            [sys.executable, "-c", program, server.url], capture_output=True, timeout=60, check=False
        )

    assert (done.returncode, done.stderr) == (0, b"")


# The SDK's threads inherit the priority of the one that opens: on one CPU the one that closes is faster.
OPEN_AND_CLOSE = """
import os
from queue import SimpleQueue
from threading import Thread, get_native_id
from operators.recognizers.azure.recognizer import _Connection
from operators.recognizers.azure import AzureSettings, service

place = service(AzureSettings(host="ws://127.0.0.1:1"))
wanted, opened = SimpleQueue(), SimpleQueue()

def open_some():
    os.setpriority(os.PRIO_PROCESS, get_native_id(), 19)
    while wanted.get():
        opened.put(_Connection(place, "en-US", lambda task: None, lambda *result: None))

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
Thread(target=open_some, daemon=True).start()
for _ in range(20):
    wanted.put(True)
    connection = opened.get()
    connection.write(bytes(3200))
    connection.close()
    del connection
print("closed")
"""


def test_a_connection_that_is_closed_while_it_starts_does_not_end_the_process() -> None:
    done = subprocess.run(
        [sys.executable, "-c", OPEN_AND_CLOSE], cwd=ROOT, env={"AZURE_SPEECH_KEY": "0" * 32},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "closed\n"), done.stderr
