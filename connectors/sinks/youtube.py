"""Sends captions to a live stream of YouTube.

The format is that of "Closed Captions over HTTP for YouTube Live Streams"
(support.google.com/youtube/answer/6077032): the UTC time of a caption and its text, with a number in the
address that a repeated request keeps.
"""

from urllib.parse import parse_qsl, urlencode, urlsplit

from connectors.files.watch import OutputWatch
from connectors.sinks.part import SinkPart
from connectors.sinks.posting import Numbered, PostSink, Request
from operators.secret import Secret


class _ClosedCaptions:
    #: By then the picture has been broadcast.
    useful_s: float | None = 60.0

    def __call__(self, url: str, final: Numbered, run: str) -> Request:  # noqa: ARG002 - numbers suffice
        parts = urlsplit(url)
        query = [*parse_qsl(parts.query, keep_blank_values=True), ("seq", str(final.number))]
        said = final.said.replace(tzinfo=None).isoformat(timespec="milliseconds")
        text = " ".join(final.caption.text.split())
        return Request(
            parts._replace(query=urlencode(query)).geturl(),
            f"{said}\n{text}\n".encode(),
            {"Content-Type": "text/plain; charset=UTF-8"},
        )


def _youtube(url: Secret, *, watch: OutputWatch) -> PostSink:
    return PostSink(url, _ClosedCaptions(), watch=watch)


youtube = SinkPart(
    "youtube", _youtube, "captions",
    is_address=True, in_one_language=True,
)  # fmt: skip
