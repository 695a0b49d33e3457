"""Sends captions to OBS, which puts them into its stream for viewers to turn on (CEA-608), as on Twitch.

The protocol is obs-websocket 5. OBS replaces the previous text immediately. It shows a text in rows of 32
columns, and cuts it off after 128 bytes. So a text has two rows, and stays as long as reading it takes.
"""

import json
import os
import time
from base64 import b64encode
from collections.abc import Mapping
from contextlib import ExitStack
from hashlib import sha256
from typing import Any

from connectors.sinks.part import SinkPart
from connectors.sinks.posting import NumberedFinal, PostSink
from operators.secret import Secret
from operators.text import cleaned, wrap

#: Holds the password that OBS shows in the settings of its WebSocket server.
PASSWORD_VARIABLE = "SURTITLE_OBS_PASSWORD"
_COLUMNS, _ROWS = 32, 2
#: Characters that are read in a second; CEA-608 carries up to 60.
_READ_PER_S = 25
_ANSWER_S = 10.0
_HELLO, _IDENTIFY, _IDENTIFIED, _REQUEST, _ANSWER = 0, 1, 2, 6, 7
_WRONG_PASSWORD, _NOT_STREAMING = 4009, 501
# A later caption would no longer match the picture.
_USEFUL_S = 30.0


class _Obs:
    """A connection, made with the first caption."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._socket: Any = None
        self._open = ExitStack()
        self._is_read_at = 0.0

    def __call__(self, _url: str, final: NumberedFinal, _run: str) -> int:
        """Show a final; raises `OSError` if that fails."""
        from websockets.exceptions import ConnectionClosed, WebSocketException

        try:
            rows = wrap(cleaned(final.text), _COLUMNS)
            for first in range(0, len(rows), _ROWS):
                self._show(" ".join(rows[first : first + _ROWS]))
        except (OSError, WebSocketException, ValueError, LookupError, TypeError, AttributeError) as error:
            self._socket = None
            self._open.close()
            if isinstance(error, OSError):
                raise
            if isinstance(error, ConnectionClosed) and error.rcvd and error.rcvd.code == _WRONG_PASSWORD:
                raise OSError(f"it requires another password in {PASSWORD_VARIABLE}") from None
            raise OSError(f"it does not answer as OBS does: {error}") from None
        return 200

    def _show(self, text: str) -> None:
        if self._socket is None:
            self._connect()
        time.sleep(max(0.0, self._is_read_at - time.monotonic()))
        request = {"requestType": "SendStreamCaption", "requestId": "", "requestData": {"captionText": text}}
        status = self._request(_REQUEST, request, _ANSWER)["requestStatus"]
        if not status["result"]:
            code = status["code"]
            why = "no stream runs there" if code == _NOT_STREAMING else f"it refuses with code {code}"
            raise OSError(why)
        self._is_read_at = time.monotonic() + len(text) / _READ_PER_S

    def _connect(self) -> None:
        from websockets.sync.client import connect

        opening = connect(self._url, open_timeout=_ANSWER_S, close_timeout=1, proxy=None)
        self._socket = self._open.enter_context(opening)
        hello = self._next(_HELLO).get("authentication")
        identity: dict[str, Any] = {"rpcVersion": 1, "eventSubscriptions": 0}
        if hello is not None:
            secret = _hashed(os.environ.get(PASSWORD_VARIABLE, "") + hello["salt"])
            identity["authentication"] = _hashed(secret + hello["challenge"])
        self._request(_IDENTIFY, identity, _IDENTIFIED)

    def _request(self, op: int, data: Mapping[str, Any], answer: int) -> dict[str, Any]:
        self._socket.send(json.dumps({"op": op, "d": data}))
        return self._next(answer)

    def _next(self, op: int) -> dict[str, Any]:
        while (message := json.loads(self._socket.recv(_ANSWER_S)))["op"] != op:
            pass
        data: dict[str, Any] = message["d"]
        return data


def _hashed(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()


def _sink(url: Secret, **given: Any) -> PostSink:
    return PostSink(url, _Obs(url.reveal()), useful_s=_USEFUL_S, schemes=("ws", "wss"), **given)


obs = SinkPart("obs", _sink, "captions", is_address=True, in_one_language=True, names=True)
