"""A web application served in a thread of its own: it answers while the model is busy."""

import contextlib
import logging
import socket
from collections.abc import Callable
from threading import Event as Flag
from threading import Thread

from starlette.types import ASGIApp
from typing_extensions import override
from uvicorn import Config, Server

from connectors.http.connection import Connection
from connectors.http.guard import MAX_HEADER_BYTES
from operators.errors import OutputError

# Seconds that the thread may take to begin.
_START_S = 30.0
# Connections that are accepted before one of them is looked at. asyncio takes as many as may wait, and each
# of those has a file open before there is somebody who could close it.
_AT_ONCE = 2


class _Server(Server):
    """Accepts few connections at once, however many wait."""

    def __init__(self, config: Config, waiting: int) -> None:
        super().__init__(config)
        self._waiting = waiting

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # To asyncio the number of connections that wait is also that of those it accepts at once.
        for listener in sockets or []:
            listener.listen(self._waiting)


class BackgroundServer:
    """Serves one application on one listener, from its making to `stop`."""

    def __init__(
        self,
        listener: socket.socket,
        app: Callable[[Callable[[], None]], ASGIApp],
        *,
        name: str,
        most_connections: int,
        backlog: int,
        stop_s: float,
        failure: str,
    ) -> None:
        """Begin to serve.

        Args:
            listener: A socket that listens; closed with the server.
            app: Makes the application, which calls what it is given when it is ready.
            name: Of the thread.
            most_connections: At once; for one more the one that has been idle longest is closed, and if none
                is idle the new one is refused.
            backlog: Connections that may wait to be accepted.
            stop_s: Seconds that connections have to end.
            failure: The sentence for a server that does not begin.

        Raises:
            OutputError: when it does not begin.
        """
        quieten()
        ready = Flag()
        self._listener = listener
        self._stop_s = stop_s
        self._server = _Server(
            Config(
                app(ready.set),
                # uvicorn's other implementation has no limit to headers.
                http=Connection,
                ws="none",
                loop="asyncio",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                h11_max_incomplete_event_size=MAX_HEADER_BYTES,
                limit_concurrency=most_connections,
                backlog=_AT_ONCE,
                timeout_graceful_shutdown=int(stop_s),
            ),
            backlog,
        )
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        if not ready.wait(_START_S):
            self.stop()
            raise OutputError(failure)

    def stop(self) -> None:
        """Answer what was asked, and let go of the port. It may be called again."""
        self._server.should_exit = True
        self._thread.join(self._stop_s + 1.0)

    def _run(self) -> None:
        with contextlib.closing(self._listener):
            self._server.run(sockets=[self._listener])


def quieten() -> None:
    """Keep what strangers send out of the terminal; a defect of ours is still told."""
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    logging.getLogger("uvicorn.access").disabled = True
