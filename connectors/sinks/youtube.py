"""Sends captions to a live stream of YouTube.

The format is that of "Closed Captions over HTTP for YouTube Live Streams"
(support.google.com/youtube/answer/6077032): the UTC time of a caption and its text, with a number in the
address that a repeated request keeps.
"""

from functools import partial
from urllib.parse import parse_qsl, urlencode, urlsplit

from connectors.sinks.part import SinkPart
from connectors.sinks.posting import NumberedFinal, PostSink, post

# Later, the picture has been broadcast.
_USEFUL_S = 60.0


def _send(url: str, final: NumberedFinal, _run: str) -> int:
    parts = urlsplit(url)
    query = [*parse_qsl(parts.query, keep_blank_values=True), ("seq", str(final.number))]
    said = final.said.replace(tzinfo=None).isoformat(timespec="milliseconds")
    text = " ".join(final.text.split())
    return post(
        parts._replace(query=urlencode(query)).geturl(),
        f"{said}\n{text}\n".encode(),
        {"Content-Type": "text/plain; charset=UTF-8"},
    )


_sink = partial(PostSink, send=_send, useful_s=_USEFUL_S)
youtube = SinkPart("youtube", _sink, "captions", is_address=True, in_one_language=True, names=True)
