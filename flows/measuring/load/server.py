"""A load on a server of rooms: recorded speech through WebSockets, at its own pace."""

import asyncio
import json
from contextlib import suppress
from threading import Event as Flag
from urllib.parse import SplitResult, urlencode, urlunsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus, WebSocketException

from connectors.rooms.messages import Opened, Received, Refusal, said_by_server
from connectors.rooms.room import BYTES_PER_SECOND
from connectors.web.messages import End, Figures, SegmentUpdate
from flows.measuring.load.playback import PIECE_S, Load, Sound, begin_s
from flows.measuring.load.run import Meter, told_memory_mb
from operators.addresses import parts_of, shown
from operators.errors import InputError, UsageError

# Seconds to wait until a room is open, and for the last captions after the rooms have fallen silent.
_OPENING_S, _PATIENCE_S = 20.0, 60.0
# Seconds that the rooms get to end when the load is interrupted, and that the server gets to close each.
_LEAVING_S, _CLOSING_S = 3.0, 2.0
# Seconds between two looks whether it is.
_LOOK_S = 0.2
# No message of a server is as long, and no room has as many segments without a final.
_MAX_MESSAGE_BYTES = 16 * 1024 * 1024
_MAX_OPEN = 1024
_FORBIDDEN = 403


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
        parts = _parts(address)
        scheme = "ws" if parts.scheme == "http" else "wss"
        # Not in a cookie: its name has the server's own port, which is another one behind a proxy.
        query = urlencode({"token": token}) if token else ""
        self._address = urlunsplit((scheme, parts.netloc, "/rooms", query, ""))
        #: The address without secrets.
        self._shown = shown(self._address)
        self._sound = sound
        self._to = to
        self._metrics = metrics
        self._stop = stop

    def run(self, load: Load, meter: Meter) -> None:
        """Speak in all rooms. Raises `InputError` if the server cannot be reached, or opens no room."""
        asyncio.run(self._speak(load, meter))

    def memory_mb(self) -> float | None:
        """What the server's metrics say."""
        return None if self._metrics is None else told_memory_mb(self._metrics)

    async def _speak(self, load: Load, meter: Meter) -> None:
        rooms = [_Speaker(number, load, meter, self._shown, self._stop) for number in range(load.rooms)]
        languages = [self._to[number % len(self._to)] if self._to else None for number in range(load.rooms)]
        # Not a task group, which would wrap the error for the user.
        speaking = asyncio.gather(*map(self._one, rooms, languages))
        while not speaking.done() and not self._stop.is_set():
            await asyncio.wait({speaking}, timeout=_LOOK_S)
        if self._stop.is_set():
            await asyncio.wait({speaking}, timeout=_LEAVING_S)
            speaking.cancel()
            with suppress(asyncio.CancelledError):
                await speaking
            return
        await speaking
        if not any(room.is_open for room in rooms):
            raise InputError(
                f"{self._shown} opened no room ({rooms[0].why}); check --server, and what the server reports"
            )

    async def _one(self, speaker: "_Speaker", to: str | None) -> None:
        await asyncio.sleep(begin_s(speaker.number))
        try:
            async with connect(
                self._address, max_size=_MAX_MESSAGE_BYTES, compression=None, close_timeout=_CLOSING_S
            ) as socket:
                await speaker.speak(socket, self._sound, to)
        except InvalidStatus as error:
            status = error.response.status_code
            hint = "set SURTITLE_WEB_TOKEN to its token" if status == _FORBIDDEN else "check --server"
            raise InputError(f"{self._shown} refused the connection (HTTP {status}); {hint}") from None
        except (OSError, UnicodeError, WebSocketException) as error:
            raise InputError(f"{self._shown} cannot be reached ({error}); check --server") from None


class _Speaker:
    """One room."""

    def __init__(self, number: int, load: Load, meter: Meter, address: str, stop: Flag) -> None:
        self.number = number
        #: Whether the server has opened it; and if not, why.
        self.is_open = False
        self.why = "it closed the connection"
        self._load = load
        self._meter = meter
        self._address = address
        self._stop = stop
        # When each piece of sound was sent, and when the room's sound began on the clock of its captions.
        self._sent_s: list[float] = []
        self._offset_s: float | None = None
        self._open: set[int] = set()
        self._dropped = 0
        self._began_s = 0.0

    async def speak(self, socket: ClientConnection, sound: Sound, to: str | None) -> None:
        """Speak until the room is over; raises `InputError` if the other side is no server of rooms."""
        is_over = False
        with suppress(WebSocketException):
            self.is_open = await self._opens(socket, to)
            if self.is_open:
                is_over = await self._converse(socket, sound)
        self._meter.add(
            dropped=self._dropped,
            lost=len(self._open),
            refused=not self.is_open,
            cut=self.is_open and not is_over,
        )

    async def _opens(self, socket: ClientConnection, to: str | None) -> bool:
        await socket.send(json.dumps({"type": "open", "room": f"load {self.number + 1}", "to": to}))
        try:
            async with asyncio.timeout(_OPENING_S):
                async for text in socket:
                    match self._understood(text):
                        case Opened():
                            return True
                        case Refusal(sentence=sentence):
                            self.why = sentence
                            return False
        except TimeoutError:
            self.why = f"it did not answer within {_OPENING_S:g} seconds"
        return False

    async def _converse(self, socket: ClientConnection, sound: Sound) -> bool:
        """Speak and read captions; whether the room came to its end."""
        self._began_s = asyncio.get_running_loop().time()
        sending = asyncio.create_task(self._send(socket, sound))
        try:
            async with asyncio.timeout(self._load.seconds + _PATIENCE_S):
                return await self._hear(socket)
        except TimeoutError:
            return False
        finally:
            sending.cancel()
            with suppress(asyncio.CancelledError, WebSocketException):
                await sending

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
            match self._understood(text):
                case Received(received=received, at_s=at_s) if self._offset_s is None:
                    self._offset_s = at_s - received / BYTES_PER_SECOND
                case SegmentUpdate() as update:
                    self._caption(update)
                case Figures() as figures:
                    self._dropped = figures.overtaken
                case End():
                    return True
                case Refusal():
                    return False
        return False

    def _understood(self, text: str | bytes) -> object:
        message = said_by_server(text)
        if message is None or len(self._open) > _MAX_OPEN:
            raise InputError(f"{self._address} does not answer as a server of rooms does; check --server")
        return message

    def _caption(self, update: SegmentUpdate) -> None:
        (self._open.discard if update.final else self._open.add)(update.segment)
        if self._offset_s is None or not self._sent_s:
            return
        place = (update.end_s - self._offset_s) / PIECE_S - 1
        sent_s = self._sent_s[round(min(max(place, 0), len(self._sent_s) - 1))]
        now_s = asyncio.get_running_loop().time()
        self._meter.caption(now_s - self._began_s, max(0.0, now_s - sent_s), is_final=update.final)


def _parts(address: str) -> SplitResult:
    """The parts of an address of HTTP. Raises `UsageError` if it is none."""
    parts = parts_of(address)
    if parts is None or parts.scheme not in ("http", "https"):
        raise UsageError(f"--server: {shown(address)} is no address; give one such as http://127.0.0.1:8080/")
    return parts
