"""Encodes the pictures of a video again with subtitles in them (PyAV, x264)."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from connectors.audio.media_process import Refusal
from connectors.exports.lettering import Font, Lettering, Picture

# Hardly worse than the original, and as fast as a lecture on two processors.
_OPTIONS = {"preset": "veryfast", "crf": "20"}
# Black and the range of grey in video (ITU-R BT.601), and no colour.
_BLACK, _RANGE, _COLOURLESS = 16, 219, 128
_MAX_DAMAGED = 1000


class Cue(NamedTuple):
    """Lines that are shown for a time, in seconds of the video."""

    start_s: float
    end_s: float
    lines: tuple[str, ...]


class Burner:
    """A track of pictures, encoded anew. Memory does not grow with the length of the video.

    Args:
        given: The track, of PyAV.
        made: The container that gets it.
        cues: In the order of time; none overlaps another.
        first: A frame of the track: cameras note there how they were held.
    """

    def __init__(self, given: Any, made: Any, cues: list[Cue], font: Font, first: Any) -> None:
        self._given, self._cues = given, cues
        source = given.codec_context
        if source.width % 2 or source.height % 2:
            odd = f"{source.width} × {source.height}"
            raise Refusal(f"its pictures are {odd}, and H.264 needs even numbers", "scale it, or use --mux")
        given.thread_type = "AUTO"
        self.track = made.add_stream("libx264", rate=given.average_rate or 25, options=dict(_OPTIONS))
        encoder = self.track.codec_context
        encoder.width, encoder.height, encoder.pix_fmt = source.width, source.height, "yuv420p"
        encoder.time_base = given.time_base
        ratio = given.sample_aspect_ratio or source.sample_aspect_ratio or Fraction(1)
        encoder.sample_aspect_ratio = ratio
        for name in ("color_primaries", "color_trc", "colorspace"):
            setattr(encoder, name, getattr(source, name))
        encoder.color_range = 1  # of video; frames in another are converted
        self.damaged = 0
        self._next = 0
        self._last = -1 << 62
        self._turns = round(first.rotation / 90) % 4
        size, stretch = (source.width, source.height), float(ratio)
        if self._turns:
            # Before the first packet, with which the header is written.
            self.track.set_display_rotation(90 * self._turns)
        if self._turns % 2:
            size, stretch = (source.height, source.width), 1 / stretch
        self._lettering = Lettering(font, [line for cue in cues for line in cue.lines], size, stretch)

    def packets(self, packet: Any | None) -> Iterator[Any]:
        """The packets that a packet becomes; those that are left for None, at the end."""
        for frame in self._decoded(packet):
            if (picture := self._drawn(frame)) is not None:
                yield from self.track.encode(picture)
        if packet is None:
            yield from self.track.encode(None)

    def _decoded(self, packet: Any | None) -> list[Any]:
        from av.error import FFmpegError

        try:
            return list(self._given.codec_context.decode(packet))
        except FFmpegError:
            self.damaged += 1
            if self.damaged > _MAX_DAMAGED:
                raise Refusal("too many of its pictures are damaged", "export it again") from None
            return []

    def _drawn(self, frame: Any) -> Any:
        if frame.pts is None or frame.pts <= self._last:
            return None
        self._last = frame.pts
        encoder = self.track.codec_context
        made = frame.reformat(encoder.width, encoder.height, "yuv420p", dst_color_range=1)
        made.pts, made.time_base, made.pict_type = frame.pts, self._given.time_base, 0
        if (lines := self._lines(float(frame.pts * self._given.time_base))) is not None:
            made.make_writable()
            _lay_over(made, self._lettering.picture(lines), self._turns)
        return made

    def _lines(self, at_s: float) -> tuple[str, ...] | None:
        while self._next < len(self._cues) and self._cues[self._next].end_s <= at_s:
            self._next += 1
        if self._next == len(self._cues) or self._cues[self._next].start_s > at_s:
            return None
        return self._cues[self._next].lines


def _lay_over(frame: Any, picture: Picture, turns: int) -> None:
    """Draw a picture into a frame of yuv420p that is shown turned so many quarters against the clock."""
    grey, alpha = (np.rot90(one, -turns) for one in (picture.grey, picture.alpha))
    height, width = picture.alpha.shape
    seen_w, seen_h = (frame.height, frame.width) if turns % 2 else (frame.width, frame.height)
    right, below = seen_w - picture.x - width, seen_h - picture.y - height
    x, y = [(picture.x, picture.y), (below, picture.x), (right, below), (picture.y, right)][turns]
    luma, *chroma = map(_pixels, frame.planes)
    _mix(luma, x, y, alpha, _BLACK + grey * (_RANGE / 255))
    rows, columns = alpha.shape
    coarse = alpha.reshape(rows // 2, 2, columns // 2, 2).mean((1, 3))
    for plane in chroma:
        _mix(plane, x // 2, y // 2, coarse, np.full_like(coarse, _COLOURLESS))


def _pixels(plane: Any) -> NDArray[np.uint8]:
    return np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)[: plane.height, : plane.width]


def _mix(
    plane: NDArray[np.uint8], x: int, y: int, alpha: NDArray[np.float32], value: NDArray[np.float32]
) -> None:
    place = plane[max(0, y) : y + alpha.shape[0], max(0, x) : x + alpha.shape[1]]
    alpha, value = (one[: place.shape[0], : place.shape[1]] for one in (alpha, value))
    place[:] = np.rint(place + alpha * (value - place))
