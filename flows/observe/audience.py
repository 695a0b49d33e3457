"""Captions in a browser as a part of a run: the hub that the flow publishes to, and its server."""

import os
from pathlib import Path

from connectors.view.status import Status
from connectors.web.hub import Hub
from connectors.web.messages import Languages
from connectors.web.server import WebServer
from flows.settings.schema import Settings
from operators.events import Caption, ErasureRecord
from operators.languages import language

#: Where a token may be instead of in the settings.
TOKEN_VARIABLE = "SURTITLE_WEB_TOKEN"


class Audience:
    """Who watches in browsers. Nobody, and at no cost, unless the settings ask for it."""

    def __init__(self, settings: Settings) -> None:
        """Prepare it; nothing listens before `open`.

        Raises:
            UsageError: for a token that is none.
        """
        web = settings.web
        self._hub: Hub | None = None
        self._server: WebServer | None = None
        #: Where it is served, without a token; None before it is.
        self.address: str | None = None
        if web.enabled:
            self._hub = Hub(_languages(settings), _streams(settings), most_clients=web.max_clients)
            self._server = WebServer(
                self._hub,
                host=web.host,
                port=web.port,
                token=web.token.reveal() if web.token else os.environ.get(TOKEN_VARIABLE),
                names=web.names,
                most_clients=web.max_clients,
            )

    def open(self) -> str | None:
        """Listen, and say where; None when nobody is to watch.

        Raises:
            OutputError: when the address cannot be listened on.
        """
        if self._server is None:
            return None
        self.address = address = self._server.start()
        if self._server.new_token is not None:
            # Nobody else could tell it to viewers. One that was given is known, and not printed.
            whole = f"{address}?token={self._server.new_token}"
            return f"{whole} for all machines that reach this one and have the whole address"
        if self._server.needs_token:
            return f"{address} for those who add ?token=… with the token that this run was given"
        return address

    @property
    def viewers(self) -> int:
        """How many watch."""
        return 0 if self._hub is None else self._hub.clients

    def caption(self, caption: Caption) -> Caption:
        """Show a caption, and hand it on.

        Delivery: at least once; after a resume those since the last snapshot are shown again.
        """
        if self._hub is not None:
            self._hub.caption(caption)
        return caption

    def record(self, record: ErasureRecord, lost_s: float) -> None:
        """Show the figures of a caption; ``lost_s`` is the sound that was lost so far, in seconds."""
        if self._hub is not None:
            self._hub.record(record, lost_s)

    def status(self, status: Status, sentence: str | None = None) -> None:
        """Show what the run is doing."""
        if self._hub is not None:
            self._hub.status(status, sentence)

    def end(self) -> None:
        """Say that no more will come; what came can still be read."""
        if self._hub is not None:
            self._hub.end()

    def close(self) -> None:
        """Let everybody go, and listen no more; it may be called again, and before `open`."""
        if self._server is not None:
            self._server.stop()


def _languages(settings: Settings) -> Languages:
    source, target = language(settings.translate.source), language(settings.translate.target)
    return Languages(source=source.code, target=target.code, target_dir="rtl" if target.is_rtl else "ltr")


def _streams(settings: Settings) -> list[str]:
    """The streams of which it is known before they begin that they will."""
    if settings.input.microphone is not None:
        return ["microphone"]
    return [Path(settings.input.audio).stem] if settings.input.audio else []
