"""The web server for captions."""

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from connectors.http.access import LOCAL, Access, checked_token, is_local
from connectors.http.listener import listen, max_sockets, shown
from connectors.web.hub import Hub
from connectors.web.streams import MAX_CLIENTS
from operators.extras import needs_extra

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from connectors.http.background import BackgroundServer

# Connections in addition to those of clients: for pages and their files.
_PAGE_CONNECTIONS = 200
# The part of the process's file limit that connections may use if the limit is low: a quarter.
_FILE_SHARE = 4
_BACKLOG = 1024
# Seconds that connections get to end.
_STOP_S = 5.0


class Speakers(Protocol):
    """Those who speak in a browser, as opposed to viewers."""

    @property
    def front(self) -> str:
        """The file of their page, which is at ``/``."""
        ...

    def routes(self) -> "list[BaseRoute]":
        """The routes that they use, WebSockets included."""
        ...


class WebServer:
    """Serves the content of a hub to browsers, from `start` to `stop`."""

    def __init__(
        self,
        hub: Hub,
        *,
        host: str = LOCAL,
        port: int,
        token: str | None = None,
        names: Sequence[str] = (),
        max_clients: int = MAX_CLIENTS,
        speakers: Speakers | None = None,
        room_files: int = 0,
    ) -> None:
        """Prepare a server; it listens once it is started.

        Args:
            host: Name or address to listen on; if others can reach it, a token is needed.
            port: Port to listen on; 0 for any free one.
            token: The token for viewers; absent to generate one if needed.
            names: Names under which the server is reached, in addition to ``host``.
            max_clients: Maximum number of clients; some connections for pages are added.
            speakers: Those who speak in a browser, if any may.
            room_files: Maximum number of files that their rooms write at the same time.

        Raises:
            UsageError: for an invalid token; without the packages of the extra ``web``; if the system permits
                too few open files.
        """
        with needs_extra("web", "--web"):
            import_module("connectors.web.app")
        self._hub = hub
        self._host = host
        self._port = port
        self._token = checked_token(token, needed=not is_local(host))
        #: The generated token if none was given, for viewers.
        self.new_token = None if token else self._token
        self._names = names
        self._max_connections = max_sockets(max_clients + _PAGE_CONNECTIONS, _FILE_SHARE, room_files)
        self._speakers = speakers
        self._server: BackgroundServer | None = None

    @property
    def needs_token(self) -> bool:
        """Whether viewers need a token."""
        return self._token is not None

    def start(self) -> str:
        """Listen, and return the address for viewers, without the token that it may need.

        Raises:
            OutputError: when the port is in use or may not be opened.
        """
        # Not imported with this module: few runs need it.
        from connectors.http.background import BackgroundServer
        from connectors.web.app import web_app

        instead = "choose another --port or --host"
        listener = listen(self._host, self._port, what="captions", instead=instead, backlog=_BACKLOG)
        port = listener.getsockname()[1]
        access = Access(self._host, port, self._token, self._names)
        front, more = (
            (self._speakers.front, self._speakers.routes()) if self._speakers else ("index.html", [])
        )
        self._server = BackgroundServer(
            listener,
            lambda ready: web_app(self._hub, access, self._token, ready, front=front, more=more),
            name="web",
            max_connections=self._max_connections,
            backlog=_BACKLOG,
            stop_s=_STOP_S,
            failure="the web server did not start; try again, or leave out --web",
            has_sockets=self._speakers is not None,
        )
        return f"http://{shown(self._host)}:{port}/"

    def stop(self) -> None:
        """Send clients the end of the streams and everything that they lack, then release the port.

        It may be called more than once, and before `start`.
        """
        self._hub.end()
        self._hub.close()
        if self._server is not None:
            self._server.stop()
            self._server = None
