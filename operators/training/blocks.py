"""The length of the blocks in which proposals yield an answer: Stern et al.'s mean accepted block size.

With exact acceptance the answer is the model's own whatever is proposed, so the blocks can be counted on
existing answers without a pass of the model.
"""

from collections.abc import Sequence

from operators.text import common_prefix


def passes(answer: Sequence[int], proposed: Sequence[Sequence[int]]) -> int:
    """The number of passes of blockwise decoding for an answer; greedy decoding needs one per token.

    Args:
        answer: its tokens, including the one that ends it.
        proposed: for each of these, the tokens proposed to follow it.
    """
    place, count = 0, 1
    while place < len(answer) - 1:
        # The token that ends the answer is not part of a draft: the row before it decides it.
        place += 1 + common_prefix(list(proposed[place]), list(answer[place + 1 : -1]))
        count += 1
    return count


def mean_block(
    answers: Sequence[Sequence[int]], proposed: Sequence[Sequence[Sequence[int]]], heads: int
) -> float:
    """Tokens per pass with the first ``heads`` proposals of each place, over all answers.

    The pass over the prompt counts, although it verifies nothing; greedy decoding has 1.
    """
    counts = [
        passes(answer, [place[:heads] for place in places])
        for answer, places in zip(answers, proposed, strict=True)
    ]
    return sum(map(len, answers)) / max(1, sum(counts))
