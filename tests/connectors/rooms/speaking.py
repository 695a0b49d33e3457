"""Rooms on a real server, with a flow of a few lines behind them, and speakers with real WebSockets."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Self

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from connectors.rooms.keys import RoomKeys
from connectors.rooms.registry import RoomRegistry
from connectors.rooms.room import RoomLimits
from connectors.rooms.speaker import SPEAK_PAGE, RoomSpeakers
from connectors.web.hub import Hub
from connectors.web.messages import Languages
from connectors.web.server import WebServer
from operators.events import AudioChunk
from operators.languages import language
from tests.connectors.web.browser import Page
from tests.connectors.web.serving import Served
from tests.subtitled import caption

SECOND = bytes(32_000)


class Flow:
    """Captions each stretch of sound with the number of its bytes; pauses end segments."""

    def __init__(self, rooms: RoomRegistry, hub: Hub) -> None:
        self._rooms = rooms
        self._hub = hub
        #: The open segment of each room, and its bytes of sound.
        self._heard: dict[str, tuple[int, int]] = {}
        #: Bytes of sound that were heard so far, in all rooms.
        self.heard = 0
        #: Cleared while the recogniser is busy.
        self.goes = threading.Event()
        self.goes.set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        self.goes.set()
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(0.005):
            if self.goes.is_set():
                for chunk in self._rooms.take():
                    self._hear(chunk)
        for chunk in self._rooms.close():
            self._hear(chunk)

    def _hear(self, chunk: AudioChunk) -> None:
        segment, count = self._heard.get(chunk.stream, (0, 0))
        self.heard += len(chunk.pcm)
        count += len(chunk.pcm)
        is_over = bool(chunk.pauses) or chunk.is_last
        if count and (chunk.pcm or is_over):
            shown = caption(str(count), stream=chunk.stream, segment=segment, is_final=is_over)
            self._hub.caption(shown)
            assert not self._rooms.shown(shown)
        if count and is_over:
            segment, count = segment + 1, 0
        self._heard[chunk.stream] = segment, count
        self._rooms.processed(chunk)
        if chunk.is_last and self._rooms.ended(chunk.stream, segment):
            self._hub.end(chunk.stream)


class Serving(Served):
    """A server of rooms."""

    def __init__(self, rooms: RoomRegistry, hub: Hub, server: WebServer, flow: Flow) -> None:
        super().__init__(hub, server)
        self.rooms = rooms
        self.flow = flow

    @contextmanager
    def speaker(
        self, opening: dict[str, Any] | str | bytes | None = None, **headers: str
    ) -> Iterator["Speaker"]:
        """A speaker's connection, which has said its opening."""
        address = f"ws://127.0.0.1:{self.port}/rooms"
        with connect(
            address, additional_headers=headers, max_size=None, compression=None, close_timeout=1
        ) as socket:
            if isinstance(opening, dict):
                opening = json.dumps({"type": "open", "room": "hall", **opening})
            if opening is not None:
                socket.send(opening)
            yield Speaker(socket)


class Speaker:
    """A speaker, and what the server says to it."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.page = Page()
        self.opened: dict[str, Any] = {}
        self.received = 0
        self.notices: list[str] = []
        self.refused = ""

    def open(self) -> Self:
        self.until(lambda: bool(self.opened))
        return self

    def read(self) -> bool:
        """Take the next message; whether there was one."""
        try:
            message = json.loads(self.socket.recv(timeout=60))
        except ConnectionClosed:
            return False
        match message["type"]:
            case "opened":
                self.opened, self.received = message, message["received"]
            case "received":
                self.received = message["received"]
            case "notice":
                self.notices.append(message["sentence"])
            case "refused":
                self.refused = message["sentence"]
            case _:
                self.page.take(f"id: {message.pop('id')}\ndata: {json.dumps(message)}".encode())
        return True

    def until(self, is_so: Any) -> None:
        while not is_so():
            assert self.read(), (self.refused, self.socket.close_code)

    def until_closed(self) -> int | None:
        """Read to the end; the code that the connection was closed with."""
        while self.read():
            pass
        return self.socket.close_code

    def end(self) -> None:
        self.socket.send('{"type": "end"}')

    def drop(self) -> None:
        """Lose the connection without a word."""
        with suppress(OSError):
            self.socket.socket.shutdown(2)
        self.socket.close()


@contextmanager
def serving(
    *,
    token: str | None = None,
    written: tuple[str, ...] = ("German", "Hebrew"),
    spoken: tuple[str, ...] = ("English",),
    keys: RoomKeys | None = None,
    port: int = 0,
    **limits: Any,
) -> Iterator[Serving]:
    """A server of rooms; captions are in the first ``written`` language, or else in English."""
    languages, heard = tuple(map(language, written)), tuple(map(language, spoken))
    rooms = RoomRegistry(RoomLimits(**limits), heard, languages, keys=keys, mixes=True)
    hub = Hub([Languages(source="en", target="de")], is_private=True)
    server = WebServer(hub, port=port, token=token, front=SPEAK_PAGE, more=RoomSpeakers(rooms, hub).routes())
    flow = Flow(rooms, hub)
    try:
        yield Serving(rooms, hub, server, flow)
    finally:
        flow.stop()
        server.stop()
