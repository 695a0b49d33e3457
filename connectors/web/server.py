"""The web server of captions."""

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from connectors.http.access import Access, checked_token, is_local
from connectors.http.listener import listen, shown
from connectors.http.open_files import most_sockets
from connectors.web.hub import Hub
from operators.extras import needs_extra

if TYPE_CHECKING:
    from connectors.http.background import BackgroundServer

# Connections beside those of the clients: for pages and their files.
_OTHERS = 200
# The part of a process's files that they may be where those are few: a quarter.
_SHARE = 4
_BACKLOG = 1024
# Seconds that connections get to end.
_STOP_S = 5.0


class WebServer:
    """Serves what a hub has to browsers, from `start` to `stop`."""

    def __init__(
        self,
        hub: Hub,
        *,
        host: str = "127.0.0.1",
        port: int = 8080,
        token: str | None = None,
        names: Sequence[str] = (),
        most_clients: int = 2000,
    ) -> None:
        """Prepare a server; it listens when it is started.

        Args:
            host: Name or address to listen on; one that others can reach needs a token.
            port: Port to listen on; 0 for any that is free.
            token: What viewers must know; absent for a new one where one is needed.
            names: Names under which the server is reached, beside ``host``.
            most_clients: Connections, beside some for pages.

        Raises:
            UsageError: for a token that is none; without the packages of the extra ``web``.
        """
        with needs_extra("web", "--web"):
            import_module("connectors.web.app")
        self._hub = hub
        self._host = host
        self._port = port
        self._token = checked_token(token, needed=not is_local(host))
        #: The token that was made because none was given, for viewers to be told.
        self.new_token = None if token else self._token
        self._names = names
        self._most_clients = most_clients
        self._server: BackgroundServer | None = None

    @property
    def needs_token(self) -> bool:
        """Whether viewers need a token."""
        return self._token is not None

    def start(self) -> str:
        """Listen, and give the address to look at, without the token that it may need.

        Raises:
            OutputError: when the port is in use or may not be opened.
        """
        # Not with this module: few runs need them.
        from connectors.http.background import BackgroundServer
        from connectors.web.app import web_app

        instead = "choose another --port or --host"
        listener = listen(self._host, self._port, what="captions", instead=instead, backlog=_BACKLOG)
        port = listener.getsockname()[1]
        access = Access(self._host, port, self._token, self._names)
        self._server = BackgroundServer(
            listener,
            lambda ready: web_app(self._hub, access, self._token, ready),
            name="web",
            most_connections=most_sockets(self._most_clients + _OTHERS, _SHARE),
            backlog=_BACKLOG,
            stop_s=_STOP_S,
            failure="the web server does not start; try again, or leave --web out",
        )
        return f"http://{shown(self._host)}:{port}/"

    def stop(self) -> None:
        """Tell clients that it is over, give each what it has not got yet, and let go of the port.

        It may be called again, and before `start`.
        """
        self._hub.end()
        self._hub.close()
        if self._server is not None:
            self._server.stop()
            self._server = None
