"""Where a pair of several sentences can be split, so that each sentence is aligned separately.

A link between two sentences is nearly always wrong, and the end of a sentence is supported as soon as the end
of its source is heard.
"""

from collections.abc import Sequence

import regex

# A sentence's last word: its mark, and closing marks after it. An initial or a number with a dot ends none.
_END = regex.compile(r"(?<!^\p{Lu}|\d)[.!?…。！？]+[\"'”’“»«)\]」』]*$")
# A sentence is at most this many times longer than its translation, apart from a few words.
_RATIO, _FEW = 2.5, 4


def matching(source: Sequence[str], target: Sequence[str]) -> list[tuple[int, int]]:
    """The lengths, in words, of both sides' sentences; all as one if the two sides do not match.

    They match if both have the same number of sentences and no sentence is much longer than its counterpart.
    """
    whole = [(len(source), len(target))]
    sources, targets = _lengths(source), _lengths(target)
    if len(sources) != len(targets):
        return whole
    lengths = list(zip(sources, targets, strict=True))
    if any(max(pair) > _RATIO * min(pair) + _FEW for pair in lengths):
        return whole
    return lengths or whole


def _lengths(words: Sequence[str]) -> list[int]:
    ends = [at for at, word in enumerate(words, start=1) if _END.search(word.strip()) or at == len(words)]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]
