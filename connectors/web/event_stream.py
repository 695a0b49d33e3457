"""A response that does not end: server-sent events (WHATWG HTML, 9.2)."""

import asyncio
import contextlib
from collections.abc import Callable
from random import randrange

from starlette.types import Receive, Scope, Send

from connectors.http.connection import ABORT
from connectors.web.client import Client
from connectors.web.hub import Hub

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    # Keeps proxies such as nginx from buffering captions until they have a few kilobytes.
    (b"x-accel-buffering", b"no"),
]


class EventStream:
    """Sends a client the events of a stream until the client disconnects or the hub releases it."""

    def __init__(self, hub: Hub, name: str, last_id: str | None) -> None:
        """``last_id`` is the id of the last event that the client says it got."""
        self._hub = hub
        self._name = name
        self._last_id = last_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request.

        Raises:
            connectors.web.hub.Full: when there are too many clients; nothing has been sent then.
        """
        abort: Callable[[], None] = scope.get("extensions", {}).get(ABORT, lambda: None)
        with self._hub.join(self._name, self._last_id, abort) as client:
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            watch = asyncio.create_task(_cut_when_gone(client, receive))
            try:
                # A random delay, so that clients do not all return at once when a server restarts.
                await self._send(client, send, b"retry: %d\n\n" % randrange(1000, 3000))
                while scope["method"] != "HEAD" and (events := await client.next(self._hub.lock)):
                    await self._send(client, send, events)
                await self._send(client, send, b"", more=False)
            finally:
                watch.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await watch

    async def _send(self, client: Client, send: Send, body: bytes, *, more: bool = True) -> None:
        with self._hub.sending(client):
            await send({"type": "http.response.body", "body": body, "more_body": more})


async def _cut_when_gone(client: Client, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    client.cut()
