"""A TCP proxy on loopback, which can cut all of its connections, or let them hang, until it is restored."""

import asyncio
import socket
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Literal

#: How connections fail: they are closed and refused, or they stay open and nothing passes.
Outage = Literal["refused", "silent"]


class Proxy:
    """Passes on what comes to `address` to another address, and what comes back."""

    def __init__(self, target: str) -> None:
        host, _, port = target.partition(":")
        self._target = host, int(port)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._port = self._socket.getsockname()[1]
        self.address = f"127.0.0.1:{self._port}"
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy")
        self._thread.start()
        self._passes = asyncio.Event()
        self._passes.set()
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._call(self._listen(self._socket))

    def cut(self, how: Outage) -> None:
        self._call(self._cut(how))

    def restore(self) -> None:
        self._call(self._restore())

    def close(self) -> None:
        self._call(self._cut("refused"))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _call(self, what: Coroutine[None, None, None]) -> None:
        asyncio.run_coroutine_threadsafe(what, self._loop).result(20)

    async def _listen(self, listening: socket.socket) -> None:
        self._server = await asyncio.start_server(self._accept, sock=listening)

    async def _cut(self, how: Outage) -> None:
        if how == "silent":
            self._passes.clear()
            return
        self._passes.set()
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _restore(self) -> None:
        self._passes.set()
        if self._server is None:
            await self._listen(socket.create_server(("127.0.0.1", self._port)))

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            with suppress(OSError):
                there, back = await asyncio.open_connection(*self._target)
                try:
                    await asyncio.gather(self._pass_on(reader, back), self._pass_on(there, writer))
                finally:
                    back.close()
        except asyncio.CancelledError:
            pass
        finally:
            writer.transport.abort()
            self._connections.discard(task)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while some := await reader.read(65_536):
            await self._passes.wait()
            writer.write(some)
            await writer.drain()
        # The other direction has nobody to talk to any more.
        raise ConnectionResetError
