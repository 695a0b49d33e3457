"""A load on a server of rooms: recorded speech through WebSockets, at its own pace."""

import asyncio
import json
import re
from contextlib import suppress
from threading import Event as Flag
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from urllib.request import urlopen

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidHandshake, InvalidURI, WebSocketException

from connectors.rooms.limits import BYTES_PER_SECOND
from flows.loadgen.target import Load, Meter
from operators.errors import InputError, UsageError

_PIECE_S = 0.1
_PIECE_BYTES = int(_PIECE_S * BYTES_PER_SECOND)
# Seconds to wait for the last captions after the rooms have fallen silent.
_PATIENCE_S = 60.0
# The fractional part of the golden ratio: rooms begin at different places of the recording.
_SPREAD = 0.6180339887498949
_MEMORY = re.compile(r"^process_resident_memory_bytes (\S+)", re.MULTILINE)


class ServerTarget:
    """A server that was started with ``surtitle serve``."""

    name = "server"

    def __init__(
        self,
        address: str,
        pcm: bytes,
        to: tuple[str, ...],
        token: str | None,
        metrics: str | None,
        stop: Flag,
    ) -> None:
        """Prepare a load.

        Args:
            address: The page of the server, such as ``http://127.0.0.1:8080/``.
            pcm: What is said in each room, 16 kHz mono samples of 16 bits.
            to: Languages of the captions, for one room after the other; empty for the server's first one.
            token: The server's token, if it has one.
            metrics: Address of the server's metrics, which tell its memory.
            stop: When set, the rooms fall silent.

        Raises:
            UsageError: for an address that is none.
        """
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise UsageError(f"--server: {address!r} is no address; give one such as http://127.0.0.1:8080/")
        scheme = "ws" if parts.scheme == "http" else "wss"
        self._address = urlunsplit((scheme, parts.netloc, "/rooms", "", ""))
        self._headers = {"Cookie": f"surtitle-{parts.port or 80}={token}"} if token else {}
        self._pcm = pcm[: len(pcm) - len(pcm) % 2]
        self._to = to
        self._metrics = metrics
        self._stop = stop

    def run(self, load: Load, meter: Meter) -> None:
        """Speak in all rooms. Raises `InputError` if the server cannot be reached."""
        asyncio.run(self._speak(load, meter))

    def memory_mb(self) -> float | None:
        """What the server's metrics say."""
        if self._metrics is None:
            return None
        try:
            with urlopen(self._metrics, timeout=5) as answer:
                found = _MEMORY.search(answer.read().decode())
        except (OSError, ValueError):
            raise InputError(f"{self._metrics} gives no metrics; check --server-metrics") from None
        return float(found[1]) / 1e6 if found else None

    async def _speak(self, load: Load, meter: Meter) -> None:
        rooms = [_Speaker(number, load, meter, self._stop) for number in range(load.rooms)]
        languages = [self._to[number % len(self._to)] if self._to else None for number in range(load.rooms)]
        # Not a task group, which would wrap the error for the user.
        await asyncio.gather(*map(self._one, rooms, languages))

    async def _one(self, speaker: "_Speaker", to: str | None) -> None:
        try:
            async with connect(
                self._address, additional_headers=self._headers, max_size=None, compression=None
            ) as socket:
                await speaker.speak(socket, self._pcm, to)
        except (OSError, InvalidHandshake, InvalidURI) as error:
            raise InputError(f"{self._address} cannot be reached ({error}); check --server") from None


class _Speaker:
    """One room."""

    def __init__(self, number: int, load: Load, meter: Meter, stop: Flag) -> None:
        self._number = number
        self._load = load
        self._meter = meter
        self._stop = stop
        # When each piece of sound was sent, and when the room's sound began on the clock of its captions.
        self._sent_s: list[float] = []
        self._offset_s: float | None = None
        self._open: set[int] = set()
        self._dropped = 0
        self._began_s = 0.0

    async def speak(self, socket: ClientConnection, pcm: bytes, to: str | None) -> None:
        self._began_s = asyncio.get_running_loop().time()
        opening = {"type": "open", "room": f"load {self._number + 1}", "to": to}
        await socket.send(json.dumps(opening))
        sending = asyncio.create_task(self._send(socket, pcm))
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

    async def _send(self, socket: ClientConnection, pcm: bytes) -> None:
        loop = asyncio.get_running_loop()
        at = _PIECE_BYTES * int(len(pcm) // _PIECE_BYTES * (self._number * _SPREAD % 1.0))
        sent = 0
        while loop.time() - self._began_s < self._load.seconds and not self._stop.is_set():
            piece = pcm[at : at + _PIECE_BYTES]
            at = (at + len(piece)) % len(pcm)
            await socket.send(piece)
            self._sent_s += [loop.time()] * (len(piece) == _PIECE_BYTES)
            sent += 1
            await asyncio.sleep(max(0.0, self._began_s + sent * _PIECE_S - loop.time()))
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
        place = round((update["end_s"] - self._offset_s) / _PIECE_S) - 1
        sent_s = self._sent_s[min(max(place, 0), len(self._sent_s) - 1)]
        now_s = asyncio.get_running_loop().time()
        self._meter.caption(now_s - self._began_s, max(0.0, now_s - sent_s), is_final=update["final"])
