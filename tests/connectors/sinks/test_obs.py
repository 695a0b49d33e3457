"""Captions get to OBS in rows that it can show, no faster than they are read, and again after it was away."""

import json
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from threading import Thread
from typing import Any

import pytest
from websockets.sync.server import ServerConnection, serve

from connectors.files.watch import OutputWatch
from connectors.sinks import obs, posting
from operators.errors import UsageError
from operators.notifications import OutputChanged
from operators.secret import Secret
from tests.subtitled import caption
from tests.waiting import until

PASSWORD, SALT, CHALLENGE = "käse", "salz", "frage"


class Obs:
    """A server of obs-websocket 5, as far as captions need it."""

    def __init__(self, port: int = 0) -> None:
        self.shown: list[tuple[float, str]] = []
        self.connections: list[ServerConnection] = []
        self.is_streaming = True
        self._server = serve(self._talk, "127.0.0.1", port)
        self.port = self._server.socket.getsockname()[1]
        self._thread = Thread(target=self._server.serve_forever)
        self._thread.start()

    @property
    def texts(self) -> list[str]:
        return [text for _, text in self.shown]

    def stop(self) -> None:
        self._server.shutdown()
        for one in self.connections:
            one.close()
        self._thread.join()

    def _talk(self, socket: ServerConnection) -> None:
        self.connections.append(socket)
        asked = {"challenge": CHALLENGE, "salt": SALT}
        hello = {"obsWebSocketVersion": "5.5.2", "rpcVersion": 1, "authentication": asked}
        socket.send(json.dumps({"op": 0, "d": hello}))
        identify = json.loads(socket.recv())
        assert identify["op"] == 1
        secret = b64encode(sha256((PASSWORD + SALT).encode()).digest()).decode()
        expected = b64encode(sha256((secret + CHALLENGE).encode()).digest()).decode()
        if identify["d"].get("authentication") != expected:
            socket.close(4009, "Authentication failed.")
            return
        socket.send(json.dumps({"op": 2, "d": {"negotiatedRpcVersion": 1}}))
        for message in socket:
            self._answer(socket, json.loads(message)["d"])

    def _answer(self, socket: ServerConnection, request: dict[str, Any]) -> None:
        assert request["requestType"] == "SendStreamCaption"
        status: dict[str, Any] = {"result": True, "code": 100}
        if self.is_streaming:
            self.shown.append((time.monotonic(), request["requestData"]["captionText"]))
        else:
            status = {"result": False, "code": 501, "comment": "The output is not running."}
        mirrored = {"requestType": request["requestType"], "requestId": request["requestId"]}
        socket.send(json.dumps({"op": 7, "d": mirrored | {"requestStatus": status}}))


@contextmanager
def sending(port: int, watch: OutputWatch) -> Iterator[posting.PostPartition]:
    sink: Any = obs.obs.make(Secret(f"ws://127.0.0.1:{port}"), watch=watch)
    part = sink.build_part("obs", "post", None)
    yield part
    part.close()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(obs.PASSWORD_VARIABLE, PASSWORD)
    monkeypatch.setattr(posting, "_FIRST_WAIT_S", 0.05)
    monkeypatch.setattr(obs, "_READ_PER_S", 500)


def test_a_finished_sentence_comes_in_two_rows_at_a_time_that_are_read_before_the_next() -> None:
    server = Obs()
    text = "Die Führung beginnt um zehn Uhr in der großen Halle, und sie dauert etwa eine Stunde."
    with sending(server.port, OutputWatch(print)) as part:
        part.write_batch([caption("Die", 0, 1, is_final=False), caption(text, 0, 1)])
        part.write_batch([caption("Ja.", 1, 2, speaker="Anna")])
    server.stop()
    assert server.texts == [
        "Die Führung beginnt um zehn Uhr in der großen Halle, und sie", "dauert etwa eine Stunde.",
        ">> Anna: Ja.",
    ]  # fmt: skip
    assert all(len(one.encode()) <= 128 for one in server.texts)
    times = [at for at, _ in server.shown]
    assert times[1] - times[0] >= 0.1
    assert len(server.connections) == 1


def test_obs_that_was_away_or_does_not_stream_gets_what_waits_and_it_is_told() -> None:
    told: list[OutputChanged] = []
    server = Obs()
    server.is_streaming = False
    with sending(server.port, watch := OutputWatch(told.append)) as part:
        part.write_batch([caption("Eins.", 0, 1)])
        until(lambda: told)
        server.is_streaming = True
        until(lambda: server.texts == ["Eins."])
        server.stop()
        part.write_batch([caption("Zwei.", 1, 2)])
        until(lambda: len(told) == 3)
        again = Obs(server.port)
        until(lambda: again.texts == ["Zwei."])
    again.stop()
    assert [one.is_late for one in told] == [True, False, True, False]
    assert "no stream runs there" in told[0].sentence
    assert watch.missing() == []


def test_a_wrong_password_is_said_and_another_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(obs.PASSWORD_VARIABLE, "wrong")
    monkeypatch.setattr(posting, "_END_S", 0.1)
    told: list[OutputChanged] = []
    server = Obs()
    with sending(server.port, OutputWatch(told.append)) as part:
        part.write_batch([caption("Eins.", 0, 1)])
        until(lambda: told)
    server.stop()
    assert f"it requires another password in {obs.PASSWORD_VARIABLE}" in told[0].sentence
    assert "wrong" not in told[0].sentence
    with pytest.raises(UsageError, match="give one of ws or wss"):
        obs.obs.make(Secret("http://localhost:4455"), watch=OutputWatch(told.append))
