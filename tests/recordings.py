"""Recordings in containers that libsndfile cannot read."""

from pathlib import Path

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
