"""Sends each final caption as JSON to an address of the user's."""

import os
from typing import Any
from zlib import crc32

import msgspec

from connectors.sinks.part import SinkPart
from connectors.sinks.posting import NumberedFinal, PostSink, post
from operators.secret import Secret, sendable

#: Holds the secret by which the receiver can authenticate requests; it is sent as a bearer token.
SECRET_VARIABLE = "SURTITLE_WEBHOOK_SECRET"


def _webhook(url: Secret, **settings: Any) -> PostSink:
    given = os.environ.get(SECRET_VARIABLE)
    secret = sendable(given, SECRET_VARIABLE) if given else None

    def send(url: str, final: NumberedFinal, run: str) -> int:
        caption = final.caption
        body = {
            "sequence": final.number,
            **{
                name: getattr(caption, name)
                for name in ("stream", "segment", "source", "text", "start_s", "end_s")
            },
            "said_at": final.said.isoformat(timespec="milliseconds"),
            **({"language": caption.language} if caption.language else {}),
            **({"speaker": final.speaker} if final.speaker else {}),
        }
        # The header is from a draft of the IETF. Its value stays when a request is repeated, but contains a
        # checksum: a resumed run may produce another text under the same number.
        key = f'"{run}-{final.number}-{crc32(caption.text.encode()):08x}"'
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        if secret is not None:
            headers["Authorization"] = f"Bearer {secret.reveal()}"
        return post(url, msgspec.json.encode(body), headers)

    return PostSink(url, send, **settings)


webhook = SinkPart("webhook", _webhook, "captions", is_address=True, names=True)
