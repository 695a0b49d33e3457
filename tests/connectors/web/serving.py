"""A hub that is served on a port of this machine, for tests."""

import http.client
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from connectors.web.hub import ClientTimeouts, Hub
from connectors.web.messages import Languages
from connectors.web.protocol import Bounds
from connectors.web.server import WebServer

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

    def raw(self, request: bytes = b"") -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        connection.sendall(request)
        return connection


@contextmanager
def serving(
    *,
    streams: list[str] | None = None,
    bounds: Bounds | None = None,
    patience: ClientTimeouts | None = None,
    max_clients: int = 100,
    host: str = "127.0.0.1",
    token: str | None = None,
    names: tuple[str, ...] = (),
    languages: Sequence[Languages] = (LANGUAGES,),
) -> Iterator[Served]:
    hub = Hub(languages, streams or [], bounds=bounds, patience=patience, max_clients=max_clients)
    server = WebServer(hub, host=host, port=0, token=token, names=names, max_clients=max_clients)
    try:
        yield Served(hub, server)
    finally:
        server.stop()


def soon(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.01)
