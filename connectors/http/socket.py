"""A WebSocket of a browser, with limits on its messages and its end."""

from typing import Any, ClassVar

from typing_extensions import override
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from connectors.http.connection import ABORT


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
