"""Decides when subtitles appear and disappear.

A viewer reads about 17 characters a second (`operators.languages`). A cue stays for 1 to 7 seconds, and the
next one begins at least two frames after it. Times are whole milliseconds, as in the files.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from operators.subtitles.breaking import CueText

#: Minimum and maximum milliseconds of a cue.
MIN_CUE_MS, MAX_CUE_MS = 1_000, 7_000
#: Minimum milliseconds between two cues.
GAP_MS = 80
# A century: later times cannot be speech.
_MAX_MS = 100 * 365 * 24 * 3_600_000


class Cue(NamedTuple):
    start_ms: int
    end_ms: int
    lines: tuple[str, ...]
    #: The name of the speaker; empty if unknown.
    speaker: str = ""
    #: Whether the cue before has another speaker.
    is_turn: bool = False


class SpeechProgress(NamedTuple):
    """How much of a text was spoken by a time, in any unit that is the same for the whole text."""

    amount: int
    at_ms: int


class Speech(NamedTuple):
    start_ms: int
    end_ms: int
    #: The progress: both fields rise, and the last amount is the whole. At most one entry if unknown.
    heard: tuple[SpeechProgress, ...] = ()

    @classmethod
    def at(cls, start_s: float, end_s: float) -> "Speech":
        """From seconds; speech that ends before it begins has no length."""
        start_ms = _ms(start_s)
        return cls(start_ms, max(start_ms, _ms(end_s)))

    def lasted(self, blocks: Sequence[CueText]) -> list[int]:
        """The duration of the speech of each block; only the ratios count."""
        columns = [max(1, block.columns) for block in blocks]
        if len(self.heard) < 2:
            return columns
        whole = sum(columns)
        bounds = [self._reached_ms(sum_ / whole) for sum_ in accumulate(columns, initial=0)]
        return [max(1, end - begin) for begin, end in pairwise(bounds)]

    def _reached_ms(self, share: float) -> int:
        """When a share of the text had been spoken, interpolated between two known times."""
        amount = share * self.heard[-1].amount
        at = bisect_left(self.heard, amount, key=lambda one: one.amount)
        before = self.heard[at - 1] if at else SpeechProgress(0, self.start_ms)
        after = self.heard[at]
        part = (amount - before.amount) / max(1, after.amount - before.amount)
        return round(before.at_ms + part * (after.at_ms - before.at_ms))


def _ms(seconds: float) -> int:
    # Comparisons with NaN are false.
    return round(1000 * seconds) if 0 <= 1000 * seconds < _MAX_MS else 0


def needed_ms(block: CueText) -> int:
    return min(MAX_CUE_MS, max(MIN_CUE_MS, -(-1000 * block.columns // block.speed)))


def place(blocks: Sequence[CueText], speech: Speech, free_ms: int, next_ms: int | None) -> list[Cue]:
    """Cues for the blocks of one piece of speech, one after the other.

    The first begins with the speech. Each stays as long as its text was spoken, or longer if reading takes
    longer, until the next speech. The minimum time is always kept, even if the next speech has to wait.

    Args:
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
            # Two people speak at once: the first text gets its reading time before the other begins.
            limit_ms = max(limit_ms, min(speech.end_ms - start_ms, needed + gaps_ms))
        room_ms = min(room_ms, limit_ms)
    cues = []
    stays = _shares(blocks, speech.lasted(blocks), room_ms - gaps_ms)
    for block, stays_ms in zip(blocks, stays, strict=True):
        cues.append(Cue(start_ms, start_ms + stays_ms, block.lines))
        start_ms += stays_ms + GAP_MS
    return cues


def _shares(blocks: Sequence[CueText], lasted: Sequence[int], room_ms: int) -> list[int]:
    """Milliseconds of each block: in proportion to its speech, and enough to read it if there is time."""
    least = [needed_ms(block) for block in blocks]
    if sum(least) > room_ms:
        least = [MIN_CUE_MS] * len(blocks)

    def shares(thousandths: int) -> list[int]:
        wanted = (thousandths * each // 1000 for each in lasted)
        return [min(MAX_CUE_MS, max(bound, share)) for bound, share in zip(least, wanted, strict=True)]

    # The largest factor for which there is room.
    factors = range(1, 1000 * MAX_CUE_MS + 1)
    return shares(bisect_right(factors, room_ms, key=lambda factor: sum(shares(factor))))
