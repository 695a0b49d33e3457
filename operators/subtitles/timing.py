"""Decides when subtitles appear and disappear.

A viewer reads about 17 characters a second; a wide character counts as two. A cue stays for 1 to 7 seconds,
and the next one begins at least two frames after it. Times are whole milliseconds, as in the files.
"""

from collections.abc import Sequence
from typing import NamedTuple

from operators.subtitles.breaking import Block

#: Columns read per second.
READING_SPEED = 17
#: Minimum and maximum milliseconds of a cue.
MIN_CUE_MS, MAX_CUE_MS = 1_000, 7_000
#: Minimum milliseconds between two cues.
GAP_MS = 80
# 100 hours: later times cannot be written in a file and cannot be speech.
_MAX_MS = 100 * 3_600_000


class Cue(NamedTuple):
    """The text on the screen from one time until another."""

    start_ms: int
    end_ms: int
    lines: tuple[str, ...]


class Speech(NamedTuple):
    """When something was said."""

    start_ms: int
    end_ms: int

    @classmethod
    def at(cls, start_s: float, end_s: float) -> "Speech":
        """From seconds; speech that ends before it begins has no length."""
        start_ms = _ms(start_s)
        return cls(start_ms, max(start_ms, _ms(end_s)))


def _ms(seconds: float) -> int:
    # Comparisons with NaN are false.
    return round(1000 * seconds) if 0 <= 1000 * seconds < _MAX_MS else 0


def needed_ms(block: Block) -> int:
    """How long it takes to read a block."""
    return min(MAX_CUE_MS, max(MIN_CUE_MS, -(-1000 * block.columns // READING_SPEED)))


def place(blocks: Sequence[Block], speech: Speech, free_ms: int, next_ms: int | None) -> list[Cue]:
    """Cues for the blocks of one piece of speech, one after the other.

    They begin with the speech. While it lasts each stays in proportion to its length, and longer if reading
    takes longer, until the next speech. The minimum time is always kept, even if the next speech has to wait.

    Args:
        blocks: The texts to show.
        speech: When it was said.
        free_ms: When the screen becomes free; cues begin no earlier.
        next_ms: When the next speech begins, if known and relevant.
    """
    start_ms = max(speech.start_ms, free_ms)
    gaps_ms = GAP_MS * (len(blocks) - 1)
    needed = sum(map(needed_ms, blocks))
    room_ms = max(speech.end_ms - start_ms, needed + gaps_ms)
    if next_ms is not None:
        limit_ms = next_ms - GAP_MS - start_ms
        if next_ms < speech.end_ms:
            # Two people speak at once: each one's text gets its reading time before the other's begins.
            limit_ms = max(limit_ms, min(speech.end_ms - start_ms, needed + gaps_ms))
        room_ms = min(room_ms, limit_ms)
    cues = []
    for block, stays_ms in zip(blocks, _shares(blocks, room_ms - gaps_ms), strict=True):
        cues.append(Cue(start_ms, start_ms + stays_ms, block.lines))
        start_ms += stays_ms + GAP_MS
    return cues


def _shares(blocks: Sequence[Block], room_ms: int) -> list[int]:
    """Milliseconds of each block: in proportion to its length, and enough to read it if there is time."""
    least = [needed_ms(block) for block in blocks]
    if sum(least) > room_ms:
        least = [MIN_CUE_MS] * len(blocks)

    def shares(column_us: int) -> list[int]:
        wanted = (column_us * block.columns // 1000 for block in blocks)
        return [min(MAX_CUE_MS, max(bound, share)) for bound, share in zip(least, wanted, strict=True)]

    # The longest time per column for which there is room.
    low, high = 0, 1000 * MAX_CUE_MS + 1
    while high - low > 1:
        middle = (low + high) // 2
        if sum(shares(middle)) <= room_ms:
            low = middle
        else:
            high = middle
    return shares(low)
