"""How long the tokens of a segment stood, told by lengths and erasures alone.

Update i keeps the first L(i-1) - E(i) tokens of the update before it and puts L(i) there. That is all an
erasure record says, and enough to know of every token when it came and when it was taken back.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Step(NamedTuple):
    """One update of a segment, in tokens."""

    #: Tokens of the text.
    length: int
    #: Tokens of the text before it that had to be erased to get here: E(i).
    erased: int


class Marks(NamedTuple):
    """What became of the tokens of one update; each is a number of tokens from its begin."""

    #: Those that the update before had already; what follows is new.
    kept: int
    #: Those that the next update leaves standing; what follows it erases.
    stands: int
    #: Those that no later update erases.
    settled: int


class Block(NamedTuple):
    """Neighbouring tokens that came with the same update and were erased by the same one."""

    #: Position of the first token, and of the first one after the block.
    first: int
    end: int
    #: Update that brought them.
    born: int
    #: Update that erased them; None for those of the last text.
    died: int | None


def marks(steps: Sequence[Step]) -> list[Marks]:
    """What became of the tokens of each update of one segment."""
    kept = _kept(steps)
    made: list[Marks] = []
    stands = settled = steps[-1].length if steps else 0
    for number in range(len(steps) - 1, -1, -1):
        settled = min(stands, settled)
        made.append(Marks(kept[number], stands, settled))
        stands = kept[number]
    return made[::-1]


def blocks(steps: Sequence[Step]) -> list[Block]:
    """The tokens of one segment as blocks: the erased ones in the order of their end, then the last text."""
    made: list[Block] = []
    standing: list[tuple[int, int, int]] = []
    for number, (step, kept) in enumerate(zip(steps, _kept(steps), strict=True)):
        while standing and standing[-1][1] > kept:
            first, end, born = standing.pop()
            made.append(Block(max(first, kept), end, born, number))
            if first < kept:
                standing.append((first, kept, born))
        if step.length > kept:
            standing.append((kept, step.length, number))
    return made + [Block(*block, None) for block in standing]


def _kept(steps: Sequence[Step]) -> list[int]:
    """Tokens that each update took over. A file may contradict itself: never more than either text has."""
    kept, before = [], 0
    for step in steps:
        kept.append(max(0, min(before - step.erased, step.length)))
        before = step.length
    return kept
