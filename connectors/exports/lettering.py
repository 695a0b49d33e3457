"""Draws subtitles (Pillow) in a font of this system that has their letters (found by fontconfig)."""

import subprocess
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from connectors.audio.media_process import Refusal

# Shares of the height: of the letters, of the margin below; and of the width that a line may take.
_SIZE, _MARGIN, _WIDTH = 0.055, 0.045, 0.9
# Shares of the size of the letters.
_LEADING, _PADDING, _OUTLINE = 1.3, 0.3, 0.06
# How opaque the box is behind them. Slides are often white.
_BOX = 160


class Font(NamedTuple):
    """A file with fonts, and the number of one of them."""

    path: str
    number: int


class Picture(NamedTuple):
    """Lines of text to lay over a video: their grey, from 0 to 255, and how opaque they are, from 0 to 1."""

    #: Column and row of its upper left corner in the video.
    x: int
    y: int
    grey: NDArray[np.float32]
    alpha: NDArray[np.float32]


def font_for(text: str, code: str) -> Font:
    """A font with the letters of a text in the language with this code.

    Raises:
        Refusal: when there is none, or when its letters could not be put together rightly.
    """
    letters = sorted({one for one in text if _is_drawn(one)})
    if any(map(_is_joined, letters)):
        _require_shaping()
    charset = " ".join(f"{ord(one):x}" for one in letters)
    pattern = f"sans-serif:lang={code}:charset={charset}"
    query = ["fc-match", "-f", "%{file}\n%{index}\n%{charset}", pattern]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, check=True).stdout.split("\n")
        path, index, covered = answer
    except (OSError, subprocess.CalledProcessError, ValueError):
        raise Refusal(
            "there are no fonts to draw with", "install the packages fontconfig and fonts-noto"
        ) from None
    known = [range(int(first, 16), int(last or first, 16) + 1)
             for first, _, last in (one.partition("-") for one in covered.split())]  # fmt: skip
    lacks = [one for one in letters if not any(ord(one) in span for span in known)]
    if lacks:
        few = " ".join(lacks[:8])
        raise Refusal(f"no font here has {few}", "install one that has, such as fonts-noto or fonts-noto-cjk")
    return Font(path, int(index) & 0xFFFF)


def _is_drawn(letter: str) -> bool:
    return unicodedata.category(letter) not in ("Cc", "Cf", "Zs", "Zl", "Zp")


def _is_joined(letter: str) -> bool:
    """Whether the place or the form of a letter hangs on others: of right-to-left and Indic scripts."""
    return unicodedata.bidirectional(letter) in ("R", "AL") or unicodedata.category(letter) in ("Mn", "Mc")


def _require_shaping() -> None:
    from PIL import features

    if not (features.check_feature("raqm") and features.check_feature("fribidi")):
        raise Refusal("this script cannot be drawn without FriBidi", "install the package libfribidi0")


class Lettering:
    """Draws all subtitles of a video, in letters of one size.

    Args:
        size: Width and height of the video in pixels, as it is seen.
        stretch: The width of a pixel by its height.
    """

    def __init__(self, font: Font, lines: Iterable[str], size: tuple[int, int], stretch: float = 1.0) -> None:
        from PIL import ImageFont

        self._width, self._height = round(size[0] * stretch), size[1]
        self._stretch = stretch
        probe = ImageFont.truetype(font.path, 100, index=font.number)
        widest = max((probe.getlength(one) for one in lines), default=1.0) / 100
        size_px = min(_SIZE * self._height, _WIDTH * self._width / (widest + 2 * _PADDING))
        self._size = max(8, int(size_px))
        self._font = ImageFont.truetype(font.path, self._size, index=font.number)

    @lru_cache(maxsize=1)  # noqa: B019 - one for each video, of the cue that is shown
    def picture(self, lines: Sequence[str]) -> Picture:
        """These lines at the bottom, each in a box; its place and size are even, as those of colours are."""
        from PIL import Image, ImageDraw

        size, leading, padding = self._size, round(_LEADING * self._size), round(_PADDING * self._size)
        widths = [self._font.getlength(one) for one in lines]
        width, height = _even(max(widths) + 4 * padding), _even(leading * len(lines) + padding)
        canvas: Any = Image.new("LA", (width, height), (0, 0))
        draw: Any = ImageDraw.Draw(canvas)
        for number, own in enumerate(widths):
            left, top = (width - own) / 2 - padding, leading * number
            draw.rectangle((left, top, width - left, top + leading + padding / 2), (0, _BOX))
        ascent, descent = self._font.getmetrics()
        for number, line in enumerate(lines):
            middle = leading * number + (leading + padding / 2 + ascent - descent) / 2
            outline = {"stroke_width": _OUTLINE * size, "stroke_fill": (0, 255)}
            draw.text((width / 2, middle), line, (255, 255), font=self._font, anchor="ms", **outline)
        if self._stretch != 1.0:
            width = _even(width / self._stretch)
            canvas = canvas.resize((width, height))
        grey, alpha = np.moveaxis(np.asarray(canvas, np.float32), 2, 0)
        x = (round(self._width / self._stretch) - width) // 4 * 2
        y = (self._height - height - round(_MARGIN * self._height)) // 2 * 2
        return Picture(max(0, x), max(0, y), grey, alpha / 255)


def _even(length: float) -> int:
    return 2 * -(-int(length) // 2)
