"""A load on servers that fail or are no servers of rooms: one sentence, in bounded time and memory."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event as Flag

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from flows.measuring.load import server as into_server
from flows.measuring.load.rooms import Load, Meter
from flows.measuring.load.server import speak_to_server
from operators.errors import InputError
from tests.connectors.rooms.speaking import serving

SOUND = bytes(32_000)
OPENED = json.dumps(
    {
        "type": "opened", "stream": "hall.1", "key": "k", "view": "v", "received": 0,
        "language": {"source": "en", "target": "de", "target_dir": "ltr"},
    }
)  # fmt: skip
Says = Callable[[ServerConnection], None]


@contextmanager
def server(says: Says) -> Iterator[str]:
    """A WebSocket that says something of its own."""

    def answer(socket: ServerConnection) -> None:
        with suppress(ConnectionClosed, OSError):
            says(socket)

    with serve(answer, "127.0.0.1", 0) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.socket.getsockname()[1]}/"
        finally:
            listening.shutdown()
            thread.join()


def load(address: str, rooms: int = 1, *, token: str | None = None) -> Counter[str]:
    meter = Meter()
    speak_to_server(address, SOUND, (), token, Flag())(Load(rooms, 0.5), meter)
    return meter.counts


def listens(socket: ServerConnection) -> None:
    for message in socket:
        if message == '{"type": "end"}':
            return


def sends(*messages: str | bytes) -> Says:
    def says(socket: ServerConnection) -> None:
        for message in messages:
            socket.send(message)
        listens(socket)

    return says


@pytest.mark.parametrize(
    ("says", "words"),
    [
        *(
            (sends(message), "does not answer as a server of rooms does; check --server")
            for message in ("rubbish", "{}", b"\xff", '{"type": "received", "received": "x"}', "[" * 100_000)
        ),
        (listens, r"opened no room \(it did not answer within 0\.2 seconds\); check --server"),
        (ServerConnection.close, r"opened no room \(it closed the connection\)"),
    ],
)
def test_an_address_without_a_server_of_rooms_is_refused_in_one_sentence(
    says: Says, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(into_server, "_OPENING_S", 0.2)
    with server(says) as address, pytest.raises(InputError, match=words):
        load(address, rooms=2)


def test_a_server_that_ends_in_the_middle_is_distinguished_from_a_silent_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def goes(socket: ServerConnection) -> None:
        socket.send(OPENED)
        socket.recv()

    def stays(socket: ServerConnection) -> None:
        sends(OPENED)(socket)
        time.sleep(0.5)

    with server(goes) as address:
        assert load(address, rooms=2) == Counter(cut=2)
    with server(sends(OPENED, '{"type": "end"}')) as address:
        assert load(address) == Counter()
    monkeypatch.setattr(into_server, "_LAST_CAPTIONS_S", 0.2)
    with server(stays) as address:
        assert load(address) == Counter(cut=1), "its last caption never came"


def test_a_server_that_refuses_every_room_is_an_error_with_its_reason() -> None:
    with serving(rooms=1) as served, served.speaker({}) as other:
        other.open()
        with pytest.raises(InputError, match=r"opened no room \(the only room of this server is taken"):
            load(served.address, rooms=2)


def test_the_token_is_known_to_the_server_and_is_in_no_message() -> None:
    with serving(token="the-secret-token") as served:
        assert load(served.address, token="the-secret-token")["finals"] > 0
        for token in (None, "another-token"):
            with pytest.raises(InputError, match=r"\(HTTP 403\); set SURTITLE_WEB_TOKEN") as refused:
                load(served.address, token=token)
            assert "token=" not in str(refused.value)
    with pytest.raises(InputError, match="cannot be reached") as gone:
        load(served.address.replace("//", "//me:password@"), token="the-secret-token")
    assert "secret" not in str(gone.value)
    assert "password" not in str(gone.value)
