"""Recordings in containers that libsndfile cannot read, and a server of such."""

from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Protocol

import av
import numpy as np
from av.audio.resampler import AudioResampler
from numpy.typing import NDArray

CODECS = {"mp4": "aac", "mkv": "libopus", "webm": "libopus", "m4a": "alac", "ts": "aac", "avi": "libmp3lame"}


def write(
    path: Path, samples: NDArray[np.int16], rate: int = 48_000, *, front: bool = False, repeat: int = 1
) -> Path:
    """A recording in the container that the suffix names, with its index at the front if asked for."""
    options = {"movflags": "faststart"} if front else {}
    with av.open(str(path), "w", options=options) as container:
        stream = container.add_stream(CODECS[path.suffix[1:]], rate=48_000)
        frame = av.AudioFrame.from_ndarray(samples[None, :], format="s16", layout="mono")
        frame.sample_rate, frame.pts = rate, 0
        resampler = AudioResampler(stream.format, stream.layout, 48_000)
        frames = [*resampler.resample(frame), *resampler.resample(None)]
        packets = [packet for one in (*frames, None) for packet in stream.encode(one)]
        length = packets[-1].pts + packets[-1].duration - packets[0].pts
        for turn in range(repeat):
            for packet in packets:
                again = av.Packet(bytes(packet))
                again.pts = again.dts = packet.pts + turn * length
                again.duration, again.time_base, again.stream = packet.duration, packet.time_base, stream
                container.mux(again)
    return path


class Offered(Protocol):
    """The content of a server, such as a dictionary."""

    def get(self, path: str, /) -> bytes | None:
        """The content at a path; None if there is none."""


@contextmanager
def served(offered: Offered, user: str = "") -> Iterator[str]:
    """The address of a server on loopback; with a ``user``, paths with "private" are for that one alone."""
    known = f"Basic {b64encode(user.encode()).decode()}"

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_refused = "private" in self.path and self.headers["Authorization"] != known
            content = None if is_refused else offered.get(self.path)
            self.send_response(401 if is_refused else 404 if content is None else 200)
            if is_refused:
                self.send_header("WWW-Authenticate", 'Basic realm="talks"')
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_port}"
        finally:
            http.shutdown()
            thread.join()
