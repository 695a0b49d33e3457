"""Sends each final caption as JSON to an address of yours."""

import os
from zlib import crc32

import msgspec

from connectors.files.watch import OutputWatch
from connectors.sinks.part import SinkPart
from connectors.sinks.posting import Numbered, PostSink, Request
from operators.secret import Secret, sendable

#: Holds what the receiver is to know us by; it is sent as a bearer token.
SECRET_VARIABLE = "SURTITLE_WEBHOOK_SECRET"


class _Json:
    useful_s: float | None = None

    def __init__(self, secret: Secret | None) -> None:
        self._secret = secret

    def __call__(self, url: str, final: Numbered, run: str) -> Request:
        caption = final.caption
        body = {
            "sequence": final.number,
            "stream": caption.stream,
            "segment": caption.segment,
            "source": caption.source,
            "text": caption.text,
            "start_s": caption.start_s,
            "end_s": caption.end_s,
            "said_at": final.said.isoformat(timespec="milliseconds"),
        }
        if caption.language:
            body["language"] = caption.language
        # The name is that of the draft by the IETF; the value stays when a request is repeated. A run that
        # resumes may hear something else under the same number.
        key = f'"{run}-{final.number}-{crc32(caption.text.encode()):08x}"'
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        if self._secret is not None:
            headers["Authorization"] = f"Bearer {self._secret.reveal()}"
        return Request(url, msgspec.json.encode(body), headers)


def _webhook(url: Secret, *, watch: OutputWatch) -> PostSink:
    secret = os.environ.get(SECRET_VARIABLE)
    return PostSink(url, _Json(sendable(secret, SECRET_VARIABLE) if secret else None), watch=watch)


webhook = SinkPart("webhook", _webhook, "captions", is_address=True)
