"""A speech service on loopback that speaks Azure's WebSocket protocol, well or badly, as a test scripts it.

What it hears are words in a code that needs no model: a word is a run of equal samples, and its loudness is
its number (`say`). So it really recognises whatever audio reaches it, wherever the audio was cut. The other
end is a `Listener`.
"""

import json
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from itertools import pairwise
from threading import Condition, Event, Thread
from typing import Any

import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve

from operators.events import SAMPLE_RATE, AudioChunk
from operators.notifications import RecognizerChanged
from operators.recognizers.azure import AzureSettings
from operators.recognizers.azure.recognizer import AzureRecognizer
from operators.recognizers.protocol import Hypothesis
from operators.secret import Secret

KEY = "0123456789abcdef0123456789abcdef"
WORD_S = 0.25
PAUSE_S = 0.5
_STEP = 10
_FIRST = 5000
TICKS = 10_000_000

Script = Callable[["Session"], None]


def say(*sentences: Sequence[int], lead_s: float = 0.2) -> bytes:
    """Audio of sentences of words, words being numbers, with a pause after each sentence."""
    parts = [np.zeros(round(lead_s * SAMPLE_RATE), "<i2")]
    for sentence in sentences:
        parts += [np.full(round(WORD_S * SAMPLE_RATE), _FIRST + _STEP * word, "<i2") for word in sentence]
        parts.append(np.zeros(round(PAUSE_S * SAMPLE_RATE), "<i2"))
    return b"".join(part.tobytes() for part in parts)


def chunks(pcm: bytes, start_s: float = 0.0, chunk_s: float = 0.05) -> list[AudioChunk]:
    """The audio as it comes from a microphone."""
    size = 2 * round(chunk_s * SAMPLE_RATE)
    return [
        AudioChunk(stream="talk", start_s=start_s + at / (2 * SAMPLE_RATE), pcm=pcm[at : at + size])
        for at in range(0, len(pcm), size)
    ]


class Session:
    """The service's side of one connection."""

    def __init__(self, connection: ServerConnection) -> None:
        self.connection = connection
        assert connection.request is not None
        self.headers, self.path = connection.request.headers, connection.request.path
        #: Bodies of the client's text messages, by their path.
        self.texts: dict[str, Any] = {}
        self.audio = bytearray()
        self.request_id = ""
        self.is_over = False
        #: Set when the client has hung up, or the service.
        self.over = Event()

    def listen(self) -> bool:
        """Take one message; false once the audio is over."""
        message = self.connection.recv()
        if isinstance(message, str):
            head, _, text_body = message.partition("\r\n\r\n")
            self.texts[_headers(head)["path"]] = json.loads(text_body)
            return True
        size = int.from_bytes(message[:2], "big")
        headers = _headers(message[2 : 2 + size].decode())
        body = message[2 + size :]
        if not self.request_id:
            self.request_id = headers["x-requestid"]
            self.send("turn.start", {"context": {"serviceTag": "loopback"}})
        if not self.audio and body.startswith(b"RIFF"):
            body = body[44:]
        elif not body:
            self.is_over = True
        self.audio += body
        return not self.is_over

    def hear(self, seconds: float) -> None:
        """Take audio until there are so many seconds, or it is over."""
        while len(self.audio) < 2 * SAMPLE_RATE * seconds and self.listen():
            pass

    def recognize(self, seconds: float = float("inf")) -> None:
        """Recognise as Azure does, until so many seconds are heard or the audio is over."""
        told: set[tuple[int, int, bool]] = set()
        while True:
            more = len(self.audio) < 2 * SAMPLE_RATE * seconds and self.listen()
            for first_s, last_s, words, is_final in transcribe(bytes(self.audio), self.is_over):
                key = (round(first_s * TICKS), len(words), is_final)
                if key not in told:
                    told.add(key)
                    (self.phrase if is_final else self.hypothesis)(text(words), first_s, last_s - first_s)
            if not more:
                break
        if self.is_over:
            self.end()

    def hypothesis(self, said: str, offset_s: float, duration_s: float) -> None:
        place = {"Offset": round(offset_s * TICKS), "Duration": round(duration_s * TICKS)}
        self.send("speech.hypothesis", {"Text": said, **place})

    def phrase(self, said: str, offset_s: float, duration_s: float, status: str = "Success") -> None:
        place = {"Offset": round(offset_s * TICKS), "Duration": round(duration_s * TICKS)}
        self.send("speech.phrase", {"RecognitionStatus": status, "DisplayText": said, **place})

    def end(self) -> None:
        end_s = len(self.audio) / 2 / SAMPLE_RATE
        self.send("speech.endDetected", {"Offset": round(end_s * TICKS)})
        self.phrase("", end_s, 0, "EndOfDictation")
        self.send("turn.end", {})

    def send(self, path: str, body: Any) -> None:
        self.send_raw(path, json.dumps(body))

    def send_raw(self, path: str, body: str) -> None:
        self.connection.send(
            f"X-RequestId:{self.request_id}\r\nContent-Type:application/json; charset=utf-8\r\n"
            f"Path:{path}\r\n\r\n{body}"
        )

    def drop(self) -> None:
        self.connection.socket.shutdown(socket.SHUT_RDWR)


class AzureServer:
    """One script for each connection, the last one for all that follow."""

    def __init__(self, *scripts: Script) -> None:
        self._scripts = scripts
        self._changed = Condition()
        self.sessions: list[Session] = []
        #: Status of the answers to the next handshakes, before any is accepted.
        self.refusals: list[HTTPStatus] = []
        self.handshakes = 0
        #: While it is clear, handshakes are not answered.
        self.answers = Event()
        self.answers.set()
        self.url = ""

    def wait_for_session(self, count: int, timeout_s: float = 10.0) -> Session:
        """The session of that number, counted from 1, once it is there."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.sessions) >= count, timeout_s)
            return self.sessions[count - 1]

    def wait_for_handshake(self, count: int, timeout_s: float = 10.0) -> None:
        """Wait until so many were begun."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.handshakes >= count, timeout_s)

    def _admit(self, connection: ServerConnection, _request: Request) -> Response | None:
        with self._changed:
            self.handshakes += 1
            self._changed.notify_all()
        assert self.answers.wait(20)
        with self._changed:
            if not self.refusals:
                return None
            status = self.refusals.pop(0) if len(self.refusals) > 1 else self.refusals[0]
        return connection.respond(status, "no\n")

    def _handle(self, connection: ServerConnection) -> None:
        session = Session(connection)
        with self._changed:
            number = len(self.sessions)
            self.sessions.append(session)
            self._changed.notify_all()
        try:
            self._scripts[min(number, len(self._scripts) - 1)](session)
            # The client hangs up when it has what it wants.
            while True:
                connection.recv()
        except (ConnectionClosed, OSError):
            pass
        finally:
            session.over.set()


@contextmanager
def running(*scripts: Script) -> Iterator[AzureServer]:
    """A service on a free port of loopback."""
    azure = AzureServer(*(scripts or (Session.recognize,)))
    with serve(azure._handle, "127.0.0.1", 0, process_request=azure._admit, compression=None) as server:
        azure.url = f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield azure
        finally:
            for session in azure.sessions:
                session.connection.close_socket()
            server.shutdown()
            thread.join()


def transcribe(pcm: bytes, is_over: bool) -> list[tuple[float, float, list[int], bool]]:
    """Utterances: where the first word begins and the last ends, the words, whether a pause has followed."""
    samples = np.frombuffer(pcm[: len(pcm) // 2 * 2], "<i2")
    codes = np.where(samples > _FIRST // 2, (samples.astype(int) - _FIRST) // _STEP, -1)
    edges = [0, *(np.flatnonzero(np.diff(codes)) + 1), len(codes)]
    found: list[tuple[float, float, list[int], bool]] = []
    for begin, end in pairwise(edges):
        is_open = bool(found) and not found[-1][3]
        if begin < end and codes[begin] >= 0 and end - begin >= 0.1 * SAMPLE_RATE:
            first_s, _, words, _ = found.pop() if is_open else (begin / SAMPLE_RATE, 0, [], False)
            is_last = is_over and end == len(codes)
            found.append((first_s, end / SAMPLE_RATE, [*words, int(codes[begin])], is_last))
        elif is_open and (is_over or end - begin >= 0.3 * SAMPLE_RATE):
            found[-1] = (*found[-1][:3], True)
    return found


def text(words: Sequence[int]) -> str:
    """What the service writes for words."""
    return " ".join(f"w{word}" for word in words)


def _headers(head: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in head.split("\r\n") if line)
    return {name.lower().strip(): value.strip() for name, _, value in pairs}


class Listener:
    """Feeds a recogniser that talks to a server."""

    def __init__(self, server: AzureServer, **settings: Any) -> None:
        self.told: list[str] = []
        self._changed = Condition()
        given = {"host": server.url, "key": Secret(KEY), **settings}
        self.recognizer = AzureRecognizer(AzureSettings(**given), self._observe)
        self.heard: list[Hypothesis] = []

    def hear(self, given: Iterable[AudioChunk], pace_s: float = 0.004) -> None:
        """Accept chunks, one each ``pace_s``: ten times as fast as they were spoken."""
        for chunk in given:
            self.heard += self.recognizer.accept(chunk)
            self.pause(pace_s)

    def finish(self) -> list[Hypothesis]:
        """Finish and close: all hypotheses."""
        self.heard += self.recognizer.finish()
        self.recognizer.close()
        return self.heard

    def wait_until(self, is_so: Callable[[], bool], timeout_s: float = 8.0) -> None:
        """Wait until something was told that makes it so."""
        with self._changed:
            assert self._changed.wait_for(is_so, timeout_s), self.told

    def pause(self, seconds: float) -> None:
        """Let time pass, as between two chunks."""
        with self._changed:
            self._changed.wait_for(lambda: False, seconds)

    @property
    def finals(self) -> list[str]:
        return [hypothesis.text for hypothesis in self.heard if hypothesis.is_final]

    def _observe(self, event: RecognizerChanged) -> None:
        with self._changed:
            self.told.append(event.sentence)
            self._changed.notify_all()
