"""The connections of a browser, with a limit on every wait."""

import asyncio
from typing import ClassVar

import h11
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from connectors.http.guard import MAX_HEADER_BYTES

# Bytes that may wait in this process until a browser accepts them; the system buffers some more.
_MAX_WAITING_BYTES = 32 * 1024
# Bytes that may arrive at once. All of them are parsed before anything else, and no valid request is as long.
_MAX_AT_ONCE = 2 * MAX_HEADER_BYTES


class Connection(H11Protocol):
    """A uvicorn connection, closed if the client sends no request in time or does not accept the answer.

    uvicorn waits forever for a request that does not come, holds any number of such connections, and refuses
    all others meanwhile. Here, a connection above the limit replaces the one that has been idle longest.
    """

    #: Seconds to send a request, to accept data that exceeds the buffer, and to accept the last data when the
    #: server stops.
    idle_timeout_s: ClassVar[float] = 10.0
    write_timeout_s: ClassVar[float] = 20.0
    shutdown_timeout_s: ClassVar[float] = 1.0

    _timer: asyncio.TimerHandle

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=_MAX_WAITING_BYTES)
        self._timer = self.loop.call_later(self.idle_timeout_s, self._expire)
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            self._make_room()

    @override
    def data_received(self, data: bytes) -> None:
        if len(data) > _MAX_AT_ONCE:
            self.transport.abort()
        else:
            super().data_received(data)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        super().connection_lost(exc)

    @override
    def pause_writing(self) -> None:
        super().pause_writing()
        self._expire_in(self.write_timeout_s)

    @override
    def on_response_complete(self) -> None:
        self._expire_in(self.idle_timeout_s)
        super().on_response_complete()

    @override
    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        # From now on, the WebSocket's own limits apply.
        self._timer.cancel()
        super().handle_websocket_upgrade(event)

    @override
    def shutdown(self) -> None:
        """Let the browser get what was written for it, unless it no longer accepts data."""
        super().shutdown()
        self.loop.call_later(self.shutdown_timeout_s, self.transport.abort)

    @property
    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _expire_in(self, seconds: float) -> None:
        self._timer.cancel()
        self._timer = self.loop.call_later(seconds, self._expire)

    def _expire(self) -> None:
        if self._is_idle or self.flow.write_paused:
            self.transport.abort()

    def _make_room(self) -> None:
        others = [one for one in self.connections if isinstance(one, Connection) and one is not self]
        idle = [one for one in others if one._is_idle]
        if idle:
            longest = min(idle, key=lambda one: one._timer.when())
            # The transport reports this only later, and the next connection may come first.
            self.connections.discard(longest)
            longest.transport.abort()


class Socket(WebSocketsSansIOProtocol):
    """A uvicorn WebSocket, dropped if the client accepts no data; a stop still sends its last messages."""

    #: Seconds to accept data that exceeds the buffer, and the last data when the server stops.
    write_timeout_s: ClassVar[float] = 20.0
    shutdown_timeout_s: ClassVar[float] = 2.0

    _stalled: asyncio.TimerHandle

    @override
    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self.loop.call_later(self.write_timeout_s, self.transport.abort)

    @override
    def resume_writing(self) -> None:
        super().resume_writing()
        self._stalled.cancel()

    @override
    def shutdown(self) -> None:
        """Leave time for the application's last messages instead of closing at once."""
        self.stop_keepalive()
        self.loop.call_later(self.shutdown_timeout_s, self.transport.abort)
