"""The connections of a browser, with a limit on every wait."""

import asyncio
from typing import Any, ClassVar

import h11
from starlette.types import Receive, Scope, Send
from typing_extensions import override
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from connectors.http.guard import MAX_HEADER_BYTES

#: The request extension that holds a function to drop the request's connection immediately.
ABORT = "surtitle.abort"

# Bytes that may wait in this process until a browser accepts them; the system buffers some more.
_MAX_WAITING_BYTES = 32 * 1024
# Bytes that may arrive at once. All of them are parsed before anything else, and no valid request is as long.
_MAX_AT_ONCE = 2 * MAX_HEADER_BYTES

# One part in this many: up to this many connections beyond the maximum get an answer before they are closed.
_ANSWERED_SHARE = 4


class Connection(H11Protocol):
    """A uvicorn connection, closed if the client sends no request in time or does not accept the answer.

    uvicorn waits forever for a request that does not come or stays incomplete, and for a client that reads
    nothing. It also limits requests, although sockets are the scarce resource: here one connection too many
    replaces the one that was idle longest.
    """

    #: Seconds to send a request.
    idle_timeout_s: ClassVar[float] = 10.0
    #: Seconds to accept data that exceeds the buffer.
    write_timeout_s: ClassVar[float] = 20.0
    #: Seconds to accept the last data when the server stops.
    shutdown_timeout_s: ClassVar[float] = 1.0

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._app = self.app
        self.app = self._abortable
        self._idle_timer: asyncio.TimerHandle | None = None
        self._abort_timer: asyncio.TimerHandle | None = None
        self._idle_since_s = 0.0

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=_MAX_WAITING_BYTES)
        self._start_idle_timer()
        self._make_room()

    @override
    def data_received(self, data: bytes) -> None:
        if len(data) > _MAX_AT_ONCE:
            self.transport.abort()
        else:
            super().data_received(data)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_idle_timer()
        self._cancel_abort()
        super().connection_lost(exc)

    @override
    def pause_writing(self) -> None:
        super().pause_writing()
        self._cancel_abort()
        self._abort_timer = self.loop.call_later(self.write_timeout_s, self.transport.abort)

    @override
    def resume_writing(self) -> None:
        self._cancel_abort()
        super().resume_writing()

    @override
    def on_response_complete(self) -> None:
        self._start_idle_timer()
        super().on_response_complete()

    @override
    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        # From now on, the WebSocket's own limits apply.
        self._cancel_idle_timer()
        super().handle_websocket_upgrade(event)

    @override
    def shutdown(self) -> None:
        """Let the browser get what was written for it, unless it no longer accepts data."""
        super().shutdown()
        self.loop.call_later(self.shutdown_timeout_s, self.transport.abort)

    async def _abortable(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["extensions"] = {ABORT: self.transport.abort}
        await self._app(scope, receive, send)

    @property
    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _make_room(self) -> None:
        limit = self.limit_concurrency
        if limit is None or len(self.connections) < limit:
            return
        others = [one for one in self.connections if isinstance(one, Connection) and one is not self]
        idle = [one for one in others if one._is_idle]
        if idle:
            least = min(idle, key=lambda one: one._idle_since_s)
        elif len(self.connections) > limit + limit // _ANSWERED_SHARE:
            least = self
        else:
            return
        # The transport reports this only later, and the next connection may come first.
        self.connections.discard(least)
        least.transport.abort()

    def _cancel_abort(self) -> None:
        """Written data was accepted, or is no longer needed."""
        if self._abort_timer is not None:
            self._abort_timer.cancel()
            self._abort_timer = None

    def _start_idle_timer(self) -> None:
        self._cancel_idle_timer()
        self._idle_since_s = self.loop.time()
        self._idle_timer = self.loop.call_later(self.idle_timeout_s, self._close_idle)

    def _cancel_idle_timer(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()

    def _close_idle(self) -> None:
        if self._is_idle:
            self.transport.abort()


class Socket(WebSocketsSansIOProtocol):
    """A uvicorn WebSocket that an application can drop, and that gets its last messages at the end."""

    #: Seconds to accept the last data when the server stops.
    shutdown_timeout_s: ClassVar[float] = 2.0

    @override
    async def run_asgi(self) -> None:
        extensions: dict[str, Any] = {**(self.scope["extensions"] or {}), ABORT: self.transport.abort}
        self.scope["extensions"] = extensions
        await super().run_asgi()

    @override
    def shutdown(self) -> None:
        """Let the application say its last words; it knows that the server stops."""
        self.stop_keepalive()
        self.loop.call_later(self.shutdown_timeout_s, self.transport.abort)
