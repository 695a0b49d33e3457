"""The draft for a model that corrects a text: the text itself, with the corrections made so far.

A translation shares no words with its source, so SSBD's draft ends where the last output did (Zeng et al.,
section 3). A correction repeats nearly all of its source, so the new words of the source are the best guess
of the next tokens. The draft is the new source with every change of the last output applied: a three-way
merge (Khanna et al. 2007) of tokens. One pass verifies it like any other draft.
"""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from operators.text import common_prefix


def carried(before: Sequence[int], output: Sequence[int], source: Sequence[int]) -> tuple[int, ...]:
    """The tokens of ``source``, with the changes that made ``output`` from ``before``.

    Where ``source`` differs from ``before`` in the same place, it is not changed, because the corrected words
    are gone.
    """
    merged: list[int] = []
    old = made = new = 0
    for place, in_output, in_source in _shared(before, output, source):
        is_revised = before[old:place] != source[new:in_source]
        merged += source[new:in_source] if is_revised else output[made:in_output]
        if place < len(before):
            merged.append(before[place])
        old, made, new = place + 1, in_output + 1, in_source + 1
    return tuple(merged)


def standing(before: Sequence[int], draft: Sequence[int], stood: Sequence[int]) -> tuple[int, ...]:
    """For each token of ``draft``, how many passes accepted it: ``stood`` has the counts for ``before``."""
    same = common_prefix(before, draft)
    return (*stood[:same], *[0] * (len(draft) - same))


def _shared(
    before: Sequence[int], output: Sequence[int], source: Sequence[int]
) -> Iterator[tuple[int, int, int]]:
    """The places of tokens that all three have in the same order, and at the end the three lengths."""
    in_output, in_source = _places(before, output), _places(before, source)
    for place in range(len(before)):
        if place in in_output and place in in_source:
            yield place, in_output[place], in_source[place]
    yield len(before), len(output), len(source)


def _places(before: Sequence[int], after: Sequence[int]) -> dict[int, int]:
    """Maps places in ``before`` to those of the same tokens in ``after``."""
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    return {block.a + number: block.b + number for block in blocks for number in range(block.size)}
