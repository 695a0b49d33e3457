"""The speakers of a web server: what they are offered, and their WebSockets: sound in, captions out."""

import asyncio
import contextlib
import re
from collections.abc import Callable
from time import monotonic

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from connectors.rooms.messages import (
    AudioAck,
    End,
    FromSpeaker,
    NameRequest,
    Notice,
    OpenRequest,
    OpenResponse,
    Refusal,
    decoded,
    encoded,
    frames,
)
from connectors.rooms.registry import RoomRegistry, RoomsFullError
from connectors.rooms.room import BYTES_PER_SECOND, Room
from connectors.web.hub import Client, Hub
from connectors.web.messages import languages_of
from operators.errors import UsageError
from operators.languages import Language
from operators.text import cleaned

#: The file of the page for speakers.
SPEAK_PAGE = "speak.html"
# Seconds between two attempts to hand over sound while the room is full.
_FULL_S = 0.05
# Seconds between two confirmations of received sound.
_CONFIRM_S = 0.5
# Seconds of sound that may come at once, beyond the rate.
_BURST_S = 30.0
# Maximum bytes of a message, two seconds of sound.
_MAX_BYTES = 65_536
# A message counts as at least this many bytes (10 ms of sound): each one costs time on a shared thread.
_MIN_CHARGED_BYTES = 320
# Close codes (RFC 6455, 7.4): done, refused, too big, come again later; and our own, for another connection.
_DONE, _REFUSED, _TOO_BIG, _LATER, _ELSEWHERE = 1000, 1008, 1009, 1013, 4001
_RUN_ENDED = "the server has ended; open the room again when it is back"
# Bytes that fit into the reason of a close frame.
_MAX_REASON = 123
_NOT_IN_NAMES = re.compile(r"[\s/?#%]+")


class _Rejection(Exception):  # noqa: N818 - an answer, not an error
    def __init__(self, sentence: str, code: int = _REFUSED) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.code = code


class RoomSpeakers:
    """The speakers of a web server; used on its loop's thread."""

    def __init__(self, rooms: RoomRegistry, hub: Hub) -> None:
        self._rooms = rooms
        self._hub = hub
        # The connection of each room that has one, and the end of each room that has lost its own.
        self._cuts: dict[str, Callable[[], None]] = {}
        self._ends: dict[str, asyncio.TimerHandle] = {}

    def routes(self) -> list[BaseRoute]:
        return [Route("/rooms.json", self._offer), WebSocketRoute("/rooms", self._answer)]

    async def _offer(self, _request: Request) -> Response:
        rooms = self._rooms
        offered = {
            "from": [_language_fields(one) for one in rooms.spoken],
            "to": [_language_fields(one) for one in rooms.written],
            "mixes": rooms.mixes,
            "free": max(0, rooms.limits.rooms - len(rooms)),
            "kept": rooms.keys is not None,
        }
        return JSONResponse(offered, headers={"cache-control": "no-store"})

    async def _answer(self, socket: WebSocket) -> None:
        await socket.accept()
        try:
            opening = await self._opening(socket)
            room = self._room(opening)
            with self._hub.join(room.stream, opening.last) as client:
                await self._serve(socket, room, client)
        except _Rejection as refused:
            await _close(socket, refused.code, refused.sentence)
        except WebSocketDisconnect:
            pass

    async def _opening(self, socket: WebSocket) -> OpenRequest:
        limits = self._rooms.limits
        try:
            async with asyncio.timeout(limits.opening_s):
                message = await _next(socket)
        except TimeoutError:
            raise _Rejection(
                f"no room was opened within {limits.opening_s:g} seconds; send an opening message first"
            ) from None
        opening = decoded(message) if isinstance(message, str) else None
        if not isinstance(opening, OpenRequest):
            raise _Rejection(
                'the first message must open a room, such as {"type": "open", "room": "hall", "to": "German"}'
            )
        return opening

    def _room(self, opening: OpenRequest) -> Room:
        if self._hub.is_full:
            raise _Rejection("this server has no free connection; try again later", _LATER)
        known = None if opening.key is None else self._rooms.known(opening.key)
        if known is not None:
            return known
        try:
            # The name becomes a part of addresses, of keys and of lines of text.
            name = _NOT_IN_NAMES.sub(" ", cleaned(opening.room)).strip()
            room = self._rooms.open(name, opening.source, opening.target, opening.key)
        except UsageError as error:
            raise _Rejection(str(error), _LATER if isinstance(error, RoomsFullError) else _REFUSED) from None
        self._hub.open(room.stream, languages_of(room.directions), room.view)
        return room

    async def _serve(self, socket: WebSocket, room: Room, client: Client) -> None:
        moved = asyncio.Event()
        # Only the newest connection of a room may speak.
        self._cuts.pop(room.stream, lambda: None)()
        self._cuts[room.stream] = moved.set
        if room.stream in self._ends:
            self._ends.pop(room.stream).cancel()
        tasks = [
            asyncio.create_task(_Speaker(socket, room, self._rooms, self._hub).listen()),
            asyncio.create_task(_send_captions(socket, room, client)),
            asyncio.create_task(moved.wait()),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks[:2]:
                if task.done():
                    task.result()
            if moved.is_set():
                raise _Rejection(
                    "this room was opened in another window, which speaks from now on", _ELSEWHERE
                )
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if not moved.is_set():
                self._detach(room)

    def _detach(self, room: Room) -> None:
        """Finish the sound of a lost connection at once, and the room a little later."""
        del self._cuts[room.stream]
        if room.is_ending:
            return
        room.pause()
        loop = asyncio.get_running_loop()
        self._ends[room.stream] = loop.call_later(self._rooms.limits.linger_s, self._end, room)

    def _end(self, room: Room) -> None:
        self._ends.pop(room.stream, None)
        room.end()


def _language_fields(language: Language) -> dict[str, str]:
    return {"name": language.name, "code": language.code}


async def _send_captions(socket: WebSocket, room: Room, client: Client) -> None:
    """Send captions until the room is over or the server ends."""
    opened = OpenResponse(
        stream=room.stream,
        key=room.key,
        view=room.view,
        language=languages_of(room.directions)[0],
        received=room.received,
    )
    await socket.send_text(encoded(opened))
    while events := await client.next():
        for frame in frames(events):
            await socket.send_text(frame)
        if client.has_ended:
            # If nobody has ended the room, it ended with the run, which may have failed.
            await _close(socket, _DONE, "" if room.is_ending else _RUN_ENDED)
            return
    await _close(socket, _LATER, "the server ends, or this connection was too slow; try again later")


class _Speaker:
    """Receives a speaker's sound, limited to the rate by a token bucket."""

    def __init__(self, socket: WebSocket, room: Room, rooms: RoomRegistry, hub: Hub) -> None:
        self._hub = hub
        self._socket, self._room, self._rooms, self._limits = socket, room, rooms, rooms.limits
        # Bytes that may come at once, and the time of that count.
        self._left, self._at_s = _BURST_S * BYTES_PER_SECOND, monotonic()
        self._confirmed_s = 0.0
        self._has_warned = False
        # The time without a connection does not count as silence.
        room.heard_s = rooms.now()

    async def listen(self) -> None:
        """Take sound until the speaker is gone; raises `_Rejection`, `WebSocketDisconnect`."""
        room, silence_s = self._room, self._limits.silence_s
        while True:
            message = None
            left_s = silence_s - (self._rooms.now() - room.heard_s)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if room.is_ending else max(0.01, left_s)):
                    message = await _next(self._socket)
            if isinstance(message, str):
                await self._obey(decoded(message))
            elif message is not None:
                await self._take(message)
            if message is not None:
                await self._keep_pace(len(message))
            if not room.is_ending and self._rooms.now() - room.heard_s >= silence_s:
                room.end()
                raise _Rejection(
                    f"nothing was heard for {silence_s:g} seconds, so the room has ended; "
                    "open it again to continue"
                )

    async def _obey(self, message: FromSpeaker | None) -> None:
        match message:
            case End():
                self._room.end()
                await self._confirm()
            case NameRequest(speaker=speaker, name=name):
                try:
                    self._hub.name(self._room.stream, speaker, name)
                except UsageError as error:
                    await self._socket.send_text(encoded(Notice(sentence=str(error))))
            case _:
                raise _Rejection('after the opening, send sound in binary messages, or {"type": "end"}')

    async def _take(self, pcm: bytes) -> None:
        came_s = self._rooms.now()
        if len(pcm) > _MAX_BYTES:
            raise _Rejection(
                f"a message of {len(pcm)} bytes is too long; send {_MAX_BYTES} bytes at most", _TOO_BIG
            )
        if len(pcm) % 2:
            raise _Rejection("a message has half a sample; send 16-bit samples, 16,000 a second, in whole")
        while not self._room.accept(pcm, came_s):
            if self._room.is_ending:
                return
            await asyncio.sleep(_FULL_S)
        if monotonic() - self._confirmed_s >= _CONFIRM_S:
            await self._confirm()

    async def _confirm(self) -> None:
        self._confirmed_s = monotonic()
        message = AudioAck(received=self._room.received, at_s=self._room.end_s)
        await self._socket.send_text(encoded(message))

    async def _keep_pace(self, count: int) -> None:
        """Wait until the next message may come after one of so many bytes."""
        now_s, rate = monotonic(), self._limits.bytes_per_second
        filled = min(_BURST_S * BYTES_PER_SECOND, self._left + rate * (now_s - self._at_s))
        self._left, self._at_s = filled - max(count, _MIN_CHARGED_BYTES), now_s
        if self._left >= 0:
            return
        if not self._has_warned:
            self._has_warned = True
            sentence = (
                f"sound comes faster than {rate} bytes a second and is taken at "
                f"that rate; send it as it is spoken, in messages of {_MIN_CHARGED_BYTES} bytes or more"
            )
            await self._socket.send_text(encoded(Notice(sentence=sentence)))
        await asyncio.sleep(-self._left / rate)


async def _next(socket: WebSocket) -> str | bytes:
    """The next message. Raises `WebSocketDisconnect`."""
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1006))
    text: str | None = message.get("text")
    sound: bytes = message.get("bytes") or b""
    return sound if text is None else text


async def _close(socket: WebSocket, code: int, sentence: str = "") -> None:
    """Close the connection; the reason is in a message, and in the close frame as far as it fits."""
    with contextlib.suppress(WebSocketDisconnect, RuntimeError, OSError):
        if sentence:
            await socket.send_text(encoded(Refusal(sentence=sentence)))
        await socket.close(code, sentence.encode()[:_MAX_REASON].decode(errors="ignore"))
