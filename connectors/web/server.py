"""The web server for captions."""

import re
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

from connectors.http.access import LOCAL, Access, is_local
from connectors.http.listener import listen, max_sockets, shown
from connectors.web.hub import MAX_CLIENTS, Hub
from operators.errors import UsageError

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
# The form of a token or a key.
_SECRET = re.compile(r"[A-Za-z0-9._~-]{8,128}")


class WebServer:
    """Serves the content of a hub to browsers, from `start` to `stop`."""

    def __init__(
        self,
        hub: Hub,
        *,
        host: str = LOCAL,
        port: int,
        token: str | None = None,
        key: str | None = None,
        names: Sequence[str] = (),
        max_clients: int = MAX_CLIENTS,
        front: str = "index.html",
        more: "Sequence[BaseRoute]" = (),
        room_files: int = 0,
    ) -> None:
        """Prepare a server; it listens once it is started.

        Args:
            host: Name or address to listen on; if others can reach it, a token is needed.
            port: Port to listen on; 0 for any free one.
            token: The token for viewers; absent to generate one if needed.
            key: The operator's key, which is required to name voices; absent to generate one if other
                machines may reach the server, also over a proxy on this one.
            names: Names under which the server is reached, in addition to ``host``.
            max_clients: Maximum number of clients; some connections for pages are added.
            front: The file of the page at ``/``.
            room_files: Maximum number of files that rooms write at the same time.

        Raises:
            UsageError: for a token or key that is easy to guess or cannot be part of an address, or if both
                are the same; if the system permits too few open files.
        """
        for what, secret in (("web page's token", token), ("control room's key", key)):
            if secret and not _SECRET.fullmatch(secret):
                raise UsageError(
                    f"the {what} must be 8 to 128 letters, digits or characters of -._~; "
                    "leave it out and surtitle generates one"
                )
        if key and key == token:
            raise UsageError("the control room's key is the token, which all viewers have; choose another")
        self._hub, self._host, self._port, self._names = hub, host, port, names
        self._front, self._more = front, more
        #: The generated token if none was given, for viewers.
        self.new_token = None if token or is_local(host) else secrets.token_urlsafe(16)
        self._token = token or self.new_token
        is_reached = self.needs_token or bool(names)
        #: The generated key if none was given, for the operator.
        self.new_key = secrets.token_urlsafe(16) if is_reached and not key and not hub.is_private else None
        # The speaker who opened a room names its voices.
        self._key = None if hub.is_private else key or self.new_key
        self._max_connections = max_sockets(max_clients + _PAGE_CONNECTIONS, _FILE_SHARE, room_files)
        self._server: BackgroundServer | None = None

    @property
    def needs_token(self) -> bool:
        return self._token is not None

    @property
    def needs_key(self) -> bool:
        return self._key is not None

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
        self._server = BackgroundServer(
            listener,
            web_app(self._hub, access, self._key, front=self._front, more=self._more),
            name="captions",
            max_connections=self._max_connections,
            backlog=_BACKLOG,
            stop_s=_STOP_S,
            has_sockets=bool(self._more),
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
