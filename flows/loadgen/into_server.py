"""A load on a server of rooms: recorded speech through WebSockets, at its own pace."""

import asyncio
import json
from contextlib import suppress
from threading import Event as Flag
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidHandshake, InvalidURI, WebSocketException

from connectors.rooms.limits import BYTES_PER_SECOND
from flows.loadgen.memory import told_memory_mb
from flows.loadgen.sound import PIECE_S, Sound
from flows.loadgen.speech import begin_s
from flows.loadgen.target import Load, Meter
from operators.errors import InputError, UsageError

# Seconds to wait for the last captions after the rooms have fallen silent.
_PATIENCE_S = 60.0


class ServerTarget:
    """A server that was started with ``surtitle serve``."""

    name = "server"

    def __init__(
        self,
        address: str,
        sound: Sound,
        to: tuple[str, ...],
        token: str | None,
        metrics: str | None,
        stop: Flag,
    ) -> None:
        """Prepare a load.

        Args:
            address: The page of the server, such as ``http://127.0.0.1:8080/``.
            sound: What is said in each room.
            to: Languages of the captions, for one room after the other; empty for the server's first one.
            token: The server's token, if it has one.
            metrics: Address of the server's metrics, which tell its memory.
            stop: When set, the rooms fall silent.

        Raises:
            UsageError: for an address that is none.
        """
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise UsageError(f"--server: {address!r} is no address such as http://127.0.0.1:8080/")
        scheme = "ws" if parts.scheme == "http" else "wss"
        self._address = urlunsplit((scheme, parts.netloc, "/rooms", "", ""))
        self._headers = {"Cookie": f"surtitle-{parts.port or 80}={token}"} if token else {}
        self._sound = sound
        self._to = to
        self._metrics = metrics
        self._stop = stop

    def run(self, load: Load, meter: Meter) -> None:
        """Speak in all rooms. Raises `InputError` if the server cannot be reached."""
        asyncio.run(self._speak(load, meter))

    def memory_mb(self) -> float | None:
        """What the server's metrics say."""
        return None if self._metrics is None else told_memory_mb(self._metrics)

    async def _speak(self, load: Load, meter: Meter) -> None:
        rooms = [_Speaker(number, load, meter, self._stop) for number in range(load.rooms)]
        languages = [self._to[number % len(self._to)] if self._to else None for number in range(load.rooms)]
        # Not a task group, which would wrap the error for the user.
        await asyncio.gather(*map(self._one, rooms, languages))

    async def _one(self, speaker: "_Speaker", to: str | None) -> None:
        await asyncio.sleep(begin_s(speaker.number))
        try:
            async with connect(
                self._address, additional_headers=self._headers, max_size=None, compression=None
            ) as socket:
                await speaker.speak(socket, self._sound, to)
        except (OSError, InvalidHandshake, InvalidURI) as error:
            raise InputError(f"{self._address} cannot be reached ({error}); check --server") from None


class _Speaker:
    """One room."""

    def __init__(self, number: int, load: Load, meter: Meter, stop: Flag) -> None:
        self.number = number
        self._load = load
        self._meter = meter
        self._stop = stop
        # When each piece of sound was sent, and when the room's sound began on the clock of its captions.
        self._sent_s: list[float] = []
        self._offset_s: float | None = None
        self._open: set[int] = set()
        self._dropped = 0
        self._began_s = 0.0

    async def speak(self, socket: ClientConnection, sound: Sound, to: str | None) -> None:
        self._began_s = asyncio.get_running_loop().time()
        opening = {"type": "open", "room": f"load {self.number + 1}", "to": to}
        await socket.send(json.dumps(opening))
        sending = asyncio.create_task(self._send(socket, sound))
        is_over = False
        try:
            async with asyncio.timeout(self._load.seconds + _PATIENCE_S):
                is_over = await self._hear(socket)
        except (TimeoutError, WebSocketException):
            pass
        finally:
            sending.cancel()
            with suppress(asyncio.CancelledError, WebSocketException):
                await sending
        self._meter.add(dropped=self._dropped, lost=len(self._open), refused=not is_over and not self._sent_s)

    async def _send(self, socket: ClientConnection, sound: Sound) -> None:
        loop = asyncio.get_running_loop()
        for sent, piece in enumerate(sound.pieces(self.number), 1):
            if loop.time() - self._began_s >= self._load.seconds or self._stop.is_set():
                break
            await socket.send(piece)
            self._sent_s.append(loop.time())
            await asyncio.sleep(max(0.0, self._began_s + sent * PIECE_S - loop.time()))
        await socket.send('{"type": "end"}')

    async def _hear(self, socket: ClientConnection) -> bool:
        """Read captions until the room is over; whether it came to that."""
        async for text in socket:
            message: dict[str, Any] = json.loads(text)
            match message["type"]:
                case "received" if self._offset_s is None:
                    self._offset_s = message["at_s"] - message["received"] / BYTES_PER_SECOND
                case "update":
                    self._caption(message)
                case "figures":
                    self._dropped = message["overtaken"]
                case "end":
                    return True
                case "refused":
                    self._sent_s.clear()
                    return False
        return False

    def _caption(self, update: dict[str, Any]) -> None:
        (self._open.discard if update["final"] else self._open.add)(update["segment"])
        if self._offset_s is None or not self._sent_s:
            return
        place = round((update["end_s"] - self._offset_s) / PIECE_S) - 1
        sent_s = self._sent_s[min(max(place, 0), len(self._sent_s) - 1)]
        now_s = asyncio.get_running_loop().time()
        self._meter.caption(now_s - self._began_s, max(0.0, now_s - sent_s), is_final=update["final"])
