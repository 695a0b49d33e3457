"""Serves a web application on a thread of its own, so that it answers while the model is busy."""

import contextlib
import logging
import socket
from threading import Event as Flag
from threading import Thread

from starlette.types import ASGIApp
from typing_extensions import override
from uvicorn import Config, Server

from connectors.http.connection import Connection, Socket
from connectors.http.guard import MAX_HEADER_BYTES, MAX_MESSAGE_BYTES
from operators.errors import OutputError

# Seconds for the thread to start.
_START_S = 30.0
# Connections accepted before one of them is handled. asyncio accepts as many as its backlog, and each of them
# holds an open file before any code can close it.
_AT_ONCE = 2


class BackgroundServer(Server):
    """Serves one application on one listener, from its construction to `stop`."""

    def __init__(
        self,
        listener: socket.socket,
        app: ASGIApp,
        *,
        name: str,
        max_connections: int,
        backlog: int,
        stop_s: float,
        has_sockets: bool = False,
    ) -> None:
        """Start to serve.

        Args:
            max_connections: Maximum number at once. For one more, the connection that was idle longest is
                closed; if none is idle, the new one is refused.
            backlog: Connections that may wait to be accepted.
            stop_s: Seconds that connections get to end.

        Raises:
            OutputError: when the server does not start.
        """
        quieten()
        super().__init__(
            Config(
                app,
                # uvicorn's other implementation does not limit headers.
                http=Connection,
                ws=Socket if has_sockets else "none",
                ws_max_size=MAX_MESSAGE_BYTES,
                # Compressed sound is hardly smaller, and a small message could expand into a large one.
                ws_per_message_deflate=False,
                loop="asyncio",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                h11_max_incomplete_event_size=MAX_HEADER_BYTES,
                limit_concurrency=max_connections,
                backlog=_AT_ONCE,
                timeout_graceful_shutdown=int(stop_s),
            )
        )
        self._listener, self._waiting, self._stop_s = listener, backlog, stop_s
        self._ready = Flag()
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        if not self._ready.wait(_START_S):
            self.stop()
            raise OutputError(f"the server of the {name} did not start; try again")

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # asyncio uses the backlog also as the number of connections that it accepts at once.
        self._listener.listen(self._waiting)
        if self.started:
            self._ready.set()

    def stop(self) -> None:
        """Answer open requests and release the port. It may be called more than once."""
        self.should_exit = True
        self._thread.join(self._stop_s + 1.0)

    def _run(self) -> None:
        with contextlib.closing(self._listener):
            self.run(sockets=[self._listener])


# uvicorn logs these as errors, but any client can cause them: a WebSocket that is refused with a sentence,
# and one that sends invalid UTF-8.
_OF_STRANGERS = (
    "ASGI callable returned without completing handshake.",
    "Invalid UTF-8 sequence received from client.",
)


def _is_of_ours(record: logging.LogRecord) -> bool:
    return record.msg not in _OF_STRANGERS


def quieten() -> None:
    """Keep messages about bad requests out of the terminal; our own defects are still reported."""
    errors = logging.getLogger("uvicorn.error")
    errors.setLevel(logging.ERROR)
    errors.addFilter(_is_of_ours)
    logging.getLogger("uvicorn.access").disabled = True
