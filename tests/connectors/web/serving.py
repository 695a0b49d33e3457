"""A hub that is served on a port of this machine, for tests."""

import http.client
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from connectors.web.hub import Hub
from connectors.web.messages import Languages, Message
from connectors.web.protocol import Bounds
from connectors.web.server import WebServer
from tests.connectors.web.browser import caption

LANGUAGES = Languages(source="en", target="he", target_dir="rtl")


class Served:
    """A hub and where it is served."""

    def __init__(self, hub: Hub, server: WebServer) -> None:
        self.hub = hub
        self.server = server
        self.address = server.start()
        self.port = int(self.address.split(":")[2].partition("/")[0])

    def get(
        self, path: str, headers: dict[str, str] | None = None, method: str = "GET"
    ) -> tuple[http.client.HTTPResponse, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, headers=headers or {})
            answer = connection.getresponse()
            return answer, answer.read().decode()
        finally:
            connection.close()

    def status(
        self, path: str = "/streams.json", headers: dict[str, str] | None = None, method: str = "GET"
    ) -> int:
        return self.get(path, headers, method)[0].status

    @property
    def page(self) -> str:
        """The address of the caption page of the stream ``talk``."""
        return f"{self.address}streams/talk"

    def say(
        self, segment: int, text: str, *, source: str = "", final: bool = False, speaker: str | None = None
    ) -> None:
        more = {} if speaker is None else {"speaker": speaker}
        self.hub.caption(caption(text, segment, source=source, final=final, **more))

    def publish(self, message: Message) -> None:
        """Send any message to those who follow ``talk``."""
        with self.hub.lock:
            stream = self.hub._streams["talk"]
            stream.log._publish(message)
            self.hub._announce(stream)

    def cut(self) -> None:
        """Cut all connections, as a network that fails; their clients come back."""
        loop, server = self.hub._loop, self.server._server
        assert loop is not None
        assert server is not None
        for connection in list(server.server_state.connections):
            loop.call_soon_threadsafe(connection.transport.abort)

    def restart(self) -> None:
        """Forget everything, as a new run of the server."""
        self.hub._streams.clear()
        self.cut()

    def raw(self, request: bytes = b"") -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        connection.sendall(request)
        return connection


@contextmanager
def serving(
    *,
    streams: list[str] | None = None,
    bounds: Bounds | None = None,
    max_clients: int = 100,
    host: str = "127.0.0.1",
    token: str | None = None,
    key: str | None = None,
    names: tuple[str, ...] = (),
    languages: Sequence[Languages] = (LANGUAGES,),
) -> Iterator[Served]:
    hub = Hub(languages, streams or [], bounds=bounds, max_clients=max_clients)
    server = WebServer(hub, host=host, port=0, token=token, key=key, names=names, max_clients=max_clients)
    try:
        yield Served(hub, server)
    finally:
        server.stop()
