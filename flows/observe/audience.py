"""Captions in browsers, as a part of a run: the hub that the flow publishes to, and its server."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from connectors.audio.recording import live_stream, stream_of
from connectors.exports.room_files import FILES, RoomFiles
from connectors.messages import log_event
from connectors.rooms.keys import RoomKeys
from connectors.rooms.registry import RoomRegistry
from connectors.rooms.room import RoomLimits
from connectors.view import Status
from connectors.web.hub import MAX_STREAMS, Hub
from connectors.web.messages import languages_of
from connectors.web.qr import show_code
from connectors.web.server import WebServer
from flows.settings.schema import Settings
from operators.errors import UsageError
from operators.events import Caption
from operators.languages import language
from operators.notifications import (
    CaptionShown,
    Observed,
    RunBegan,
    RunEnded,
    SoundLost,
    SoundRecognized,
    SpeechEnded,
    UpdateMeasured,
)
from operators.recognizers.part import RECOGNIZERS
from operators.speakers import Namings

#: Maximum number of rooms unless the settings say otherwise.
ROOMS = 4


def room_registry(settings: Settings) -> RoomRegistry:
    """The empty registry of rooms with its limits and languages.

    Raises:
        UsageError: for languages that cannot be offered; with a recovery folder; for a damaged key file.
        OutputError: when the key file cannot be written.
    """
    if settings.recovery.folder is not None:
        raise UsageError("rooms end with their server and cannot be resumed; leave recovery.folder out")
    given = settings.rooms
    spoken = given.spoken or settings.translate.sources
    translate = settings.translate
    written = given.written or (() if translate.captions_only else translate.targets)
    engine = settings.recognize.engine
    if len(spoken) > 1 and not RECOGNIZERS[engine].is_multilingual:
        others = " or ".join(part.name for part in RECOGNIZERS.values() if part.is_multilingual)
        raise UsageError(
            f"rooms.from: {engine} recognises one language; name only that one, or choose the "
            f"recogniser {others}"
        )
    limits = RoomLimits(rooms=settings.translate.rooms or ROOMS)
    keys = None if given.keys is None else RoomKeys(Path(given.keys))
    return RoomRegistry(
        limits, tuple(map(language, spoken)), tuple(map(language, written)), keys=keys,
        mixes=RECOGNIZERS[engine].finds_language,
    )  # fmt: skip


#: Environment variables with the token of viewers, and with the operator's key.
TOKEN_VARIABLE = "SURTITLE_WEB_TOKEN"
KEY_VARIABLE = "SURTITLE_CONTROL_KEY"


class Audience:
    """Publishes captions, their figures and the status of the run to viewers in browsers.

    No port is opened before `served`.

    Raises:
        UsageError: for an invalid token or key, or languages of rooms; for more rooms than files
            can be opened.
    """

    def __init__(
        self, settings: Settings, files: RoomFiles | None = None, namings: Namings | None = None
    ) -> None:
        web = settings.web
        self._lost_s = 0.0
        self._address = ""
        self._files = files
        # The QR code is for viewers with phones; speakers need a computer, and readers of JSON no picture.
        self._shows_code = settings.output.terminal and settings.messages.format == "text"
        #: The rooms of speakers, if they are the input.
        self.rooms: RoomRegistry | None = room_registry(settings) if settings.input.rooms else None
        streams = [stream_of(one) for one in settings.input.recordings[:1]]
        if settings.input.microphone is not None:
            streams = [live_stream(settings.input.microphone)]
        self._hub = Hub(
            languages_of(settings.translate.directions),
            streams,
            max_streams=max(MAX_STREAMS, 2 * (settings.translate.rooms or 0)),
            is_private=self.rooms is not None,
            namings=namings,
        )
        # Without a stream of its own, the address is the list of streams, which links to each control room.
        self._control = f"streams/{quote(streams[0], safe='')}/control" if streams else ""
        speaking: dict[str, Any] = {}
        if self.rooms is not None:
            # Imported here: few runs need them.
            from connectors.rooms.speaker import SPEAK_PAGE, RoomSpeakers

            speaking = {"front": SPEAK_PAGE, "more": RoomSpeakers(self.rooms, self._hub).routes()}
        self._server = WebServer(
            self._hub,
            host=web.host,
            port=web.port,
            token=os.environ.get(TOKEN_VARIABLE),
            key=os.environ.get(KEY_VARIABLE),
            names=web.names,
            # Few rooms have captions in several languages; a file that cannot be opened waits.
            room_files=FILES * self.rooms.limits.rooms if self.rooms is not None and files is not None else 0,
            **speaking,
        )

    @contextmanager
    def served(self) -> Iterator[str]:
        """Serve viewers inside the block; returns the address, without a token.

        The address is reported when the run begins, because no resource can be missing then.

        Raises:
            OutputError: when the address cannot be listened on, or the files of rooms cannot be written.
        """
        if self._files is not None:
            self._files.begin()
        self._address = self._server.start()
        try:
            yield self._address
        finally:
            self._server.stop()
            if self._files is not None:
                self._files.close()

    @property
    def viewers(self) -> int:
        return self._hub.clients

    def observe(self, event: Observed) -> None:
        """Publish an event.

        Delivery: at least once; after a resume, captions since the last snapshot are shown again.
        """
        match event:
            case RunBegan():
                self._report_address()
            case CaptionShown(caption):
                self._caption(caption)
            case SoundRecognized(chunk) if self.rooms is not None:
                self.rooms.processed(chunk)
            case SpeechEnded(stream, sentences) if self.rooms is not None:
                if self.rooms.ended(stream, sentences):
                    self._end(stream)
            case UpdateMeasured(record):
                self._hub.record(record, self._lost_s)
            case SoundLost(lost_s):
                self._lost_s = lost_s
            case RunEnded():
                if self._files is not None:
                    self._files.close()
                # Earlier captions can still be read.
                self._hub.end()

    def _report_address(self) -> None:
        query = more = ""
        if self._server.new_token is not None:
            # A generated token must be printed for viewers. A given one is known already, and stays secret.
            query = f"?token={self._server.new_token}"
            more = " for every machine that can reach this one and has the whole address"
        elif self._server.needs_token:
            more = " for anyone who adds ?token=… with the token that this run was given"
        where = f"{self._address}{query}"
        what = "captions" if self.rooms is None else "the page for speakers is"
        log_event("web_opened", f"{what} at {where}{more}")
        self._report_control(query or ("?token=…" if self._server.needs_token else ""))
        if self._shows_code and self._server.new_token is not None:
            show_code(where, sys.stderr)

    def _report_control(self, query: str) -> None:
        if self._server.needs_key:
            key = self._server.new_key or "…"
            more = "" if self._server.new_key else " with the key that this run was given"
            where = f"{self._address}{self._control}{query}#key={key}"
            log_event("control_opened", f"control room, for you alone to name voices, at {where}{more}")

    def _caption(self, caption: Caption) -> None:
        rooms = self.rooms
        if rooms is not None and self._files is not None:
            # Written before viewers see it: the files are complete, however the process ends.
            self._files.write(caption, rooms.direction(caption.channel), rooms.began_s(caption.stream))
        self._hub.caption(caption)
        if rooms is not None and rooms.shown(caption):
            self._end(caption.stream)

    def _end(self, stream: str) -> None:
        if self._files is not None:
            self._files.end(stream)
        self._hub.end(stream)

    def status(self, status: Status, sentence: str | None) -> None:
        self._hub.status(status, sentence)
