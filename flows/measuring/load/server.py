"""A load on a server of rooms: recorded speech through WebSockets, in real time."""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from threading import Event as Flag
from typing import NamedTuple
from urllib.parse import urlencode, urlunsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus, WebSocketException

from connectors.rooms.messages import AudioAck, OpenResponse, Refusal, said_by_server
from connectors.rooms.room import BYTES_PER_SECOND
from connectors.web.messages import End, Figures, SegmentUpdate
from flows.measuring.load.rooms import PIECE_S, Load, Meter, begin_s, pieces
from operators.addresses import parts_of, shown
from operators.errors import InputError, UsageError

# Seconds to wait until a room is open, and for the last captions after the rooms have fallen silent.
_OPENING_S, _LAST_CAPTIONS_S = 20.0, 60.0
# Seconds for the rooms to end after an interrupt, and for the server to close each connection.
_LEAVING_S, _CLOSING_S = 3.0, 2.0
# Seconds between two checks of the interrupt.
_LOOK_S = 0.2
_FORBIDDEN = 403


class _Server(NamedTuple):
    address: str
    sound: bytes
    #: Languages of the captions, for one room after the other; empty for the server's first one.
    to: tuple[str, ...]
    stop: Flag


def speak_to_server(
    address: str, sound: bytes, to: tuple[str, ...], token: str | None, stop: Flag
) -> Callable[[Load, Meter], None]:
    """Make a function that speaks in rooms of a server that was started with ``surtitle serve``.

    ``address`` is the page of the server, such as ``http://127.0.0.1:8080/``. The rooms fall silent when
    ``stop`` is set. Raises `UsageError` for an invalid address.
    """
    parts = parts_of(address)
    if parts is None or parts.scheme not in ("http", "https"):
        raise UsageError(f"--server: {shown(address)} is no address; give one such as http://127.0.0.1:8080/")
    # Not in a cookie: its name has the server's port, which differs behind a proxy.
    query = urlencode({"token": token}) if token else ""
    scheme = parts.scheme.replace("http", "ws")
    server = _Server(urlunsplit((scheme, parts.netloc, "/rooms", query, "")), sound, to, stop)
    return lambda load, meter: asyncio.run(_speak(server, load, meter))


async def _speak(server: _Server, load: Load, meter: Meter) -> None:
    """Speak in all rooms. Raises `InputError` if the server cannot be reached or opens no room."""
    rooms = [_Room(server, number, load, meter) for number in range(load.rooms)]
    # Not a task group, which would wrap the error for the user.
    speaking = asyncio.gather(*(room.run() for room in rooms))
    while not speaking.done() and not server.stop.is_set():
        await asyncio.wait({speaking}, timeout=_LOOK_S)
    if server.stop.is_set():
        await asyncio.wait({speaking}, timeout=_LEAVING_S)
        speaking.cancel()
        with suppress(asyncio.CancelledError):
            await speaking
        return
    await speaking
    if not any(room.is_open for room in rooms):
        raise InputError(
            f"{shown(server.address)} opened no room ({rooms[0].why}); "
            "check --server, and what the server reports"
        )


class _Room:
    def __init__(self, server: _Server, number: int, load: Load, meter: Meter) -> None:
        self._server = server
        self._number = number
        self._load = load
        self._meter = meter
        #: Whether the server has opened it, and whether it has ended regularly; ``why``: the reason if not.
        self.is_open = self._is_over = False
        self.why = "it closed the connection"
        # When each piece of sound was sent, and when the room's sound began on the clock of its captions.
        self._sent_s: list[float] = []
        self._offset_s: float | None = None
        self._unfinished: set[int] = set()
        self._dropped = 0

    async def run(self) -> None:
        """Speak until the room is over; raises `InputError` if the other side is no surtitle server."""
        address = self._server.address
        await asyncio.sleep(begin_s(self._number))
        try:
            async with connect(address, compression=None, close_timeout=_CLOSING_S) as socket:
                with suppress(WebSocketException):
                    await self._converse(socket)
        except InvalidStatus as error:
            status = error.response.status_code
            hint = "set SURTITLE_WEB_TOKEN to its token" if status == _FORBIDDEN else "check --server"
            raise InputError(f"{shown(address)} refused the connection (HTTP {status}); {hint}") from None
        except (OSError, UnicodeError, WebSocketException) as error:
            raise InputError(f"{shown(address)} cannot be reached ({error}); check --server") from None
        self._meter.add(
            dropped=self._dropped,
            lost=len(self._unfinished),
            refused=not self.is_open,
            cut=self.is_open and not self._is_over,
        )

    async def _converse(self, socket: ClientConnection) -> None:
        """Open the room, speak, and read captions until it ends, is refused, or times out."""
        to = self._server.to[self._number % len(self._server.to)] if self._server.to else None
        await socket.send(json.dumps({"type": "open", "room": f"load {self._number + 1}", "to": to}))
        now_s, sending = asyncio.get_running_loop().time, None
        try:
            async with asyncio.timeout(_OPENING_S) as limit:
                async for text in socket:
                    match said_by_server(text):
                        case None:
                            where = shown(self._server.address)
                            raise InputError(
                                f"{where} does not answer as a server of rooms does; check --server"
                            )
                        case OpenResponse() if sending is None:
                            self.is_open = True
                            limit.reschedule(now_s() + self._load.seconds + _LAST_CAPTIONS_S)
                            sending = asyncio.create_task(self._send(socket))
                        case End():
                            self._is_over = True
                            return
                        case Refusal(sentence=sentence):
                            self.why = sentence
                            return
                        case message:
                            self._count(message)
        except TimeoutError:
            self.why = f"it did not answer within {_OPENING_S:g} seconds"
        finally:
            if sending is not None:
                sending.cancel()
                with suppress(asyncio.CancelledError, WebSocketException):
                    await sending

    async def _send(self, socket: ClientConnection) -> None:
        now_s = asyncio.get_running_loop().time
        began_s = now_s()
        for sent, piece in enumerate(pieces(self._server.sound, self._number), 1):
            if now_s() - began_s >= self._load.seconds or self._server.stop.is_set():
                break
            await socket.send(piece)
            self._sent_s.append(now_s())
            await asyncio.sleep(max(0.0, began_s + sent * PIECE_S - now_s()))
        await socket.send('{"type": "end"}')

    def _count(self, message: object) -> None:
        match message:
            case AudioAck(received=received, at_s=at_s) if self._offset_s is None:
                self._offset_s = at_s - received / BYTES_PER_SECOND
            case Figures(overtaken=overtaken):
                self._dropped = overtaken
            case SegmentUpdate(segment=segment, final=is_final, end_s=end_s):
                (self._unfinished.discard if is_final else self._unfinished.add)(segment)
                if self._offset_s is not None and self._sent_s:
                    place = (end_s - self._offset_s) / PIECE_S - 1
                    sent_s = self._sent_s[round(min(max(place, 0), len(self._sent_s) - 1))]
                    lag_s = asyncio.get_running_loop().time() - sent_s
                    self._meter.caption(max(0.0, lag_s), is_final=is_final)
