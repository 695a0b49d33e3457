"""Captions in a browser as a part of a run: the hub that the flow publishes to, and its server."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from connectors.messages.log import tell
from connectors.view.status import Status
from connectors.web.hub import Hub
from connectors.web.messages import Languages
from connectors.web.server import WebServer
from flows.settings.schema import Settings
from operators.languages import language
from operators.observed import CaptionShown, Observed, RunEnded, SoundLost, UpdateMeasured

#: Where a token may be instead of in the settings.
TOKEN_VARIABLE = "SURTITLE_WEB_TOKEN"


class Audience:
    """Who watches in browsers: the captions, their figures, and what the run is doing."""

    takes = frozenset({CaptionShown, UpdateMeasured, SoundLost, RunEnded})

    def __init__(self, settings: Settings) -> None:
        """Prepare it; nothing listens before `served`.

        Raises:
            UsageError: for a token that is none.
        """
        web = settings.web
        self._lost_s = 0.0
        self._hub = Hub(_languages(settings), _streams(settings), most_clients=web.max_clients)
        self._server = WebServer(
            self._hub,
            host=web.host,
            port=web.port,
            token=web.token.reveal() if web.token else os.environ.get(TOKEN_VARIABLE),
            names=web.names,
            most_clients=web.max_clients,
        )

    @contextmanager
    def served(self) -> Iterator[str]:
        """Let viewers in meanwhile, and tell the user where; the address, without a token.

        Raises:
            OutputError: when the address cannot be listened on.
        """
        address = self._server.start()
        try:
            tell("web_opened", f"captions at {self._told(address)}")
            yield address
        finally:
            self._server.stop()

    @property
    def viewers(self) -> int:
        """How many watch."""
        return self._hub.clients

    def observe(self, event: Observed) -> None:
        """Publish an event.

        Delivery: at least once; after a resume captions since the last snapshot are shown again.
        """
        match event:
            case CaptionShown(caption):
                self._hub.caption(caption)
            case UpdateMeasured(record):
                self._hub.record(record, self._lost_s)
            case SoundLost(losses):
                self._lost_s = losses.lost_s
            case RunEnded():
                # What came can still be read.
                self._hub.end()

    def status(self, status: Status, sentence: str | None) -> None:
        """Show what the run is doing, and what is wrong."""
        self._hub.status(status, sentence)

    def _told(self, address: str) -> str:
        if self._server.new_token is not None:
            # Nobody else could tell it to viewers. One that was given is known, and not printed.
            whole = f"{address}?token={self._server.new_token}"
            return f"{whole} for all machines that reach this one and have the whole address"
        if self._server.needs_token:
            return f"{address} for those who add ?token=… with the token that this run was given"
        return address


def _languages(settings: Settings) -> Languages:
    source, target = language(settings.translate.source), language(settings.translate.target)
    return Languages(source=source.code, target=target.code, target_dir="rtl" if target.is_rtl else "ltr")


def _streams(settings: Settings) -> list[str]:
    """The streams of which it is known before they begin that they will."""
    if settings.input.microphone is not None:
        return ["microphone"]
    return [Path(settings.input.audio).stem] if settings.input.audio else []
