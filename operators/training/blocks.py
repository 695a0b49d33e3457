"""How long the blocks are that proposals make of an answer: Stern et al.'s mean accepted block size.

Under exact acceptance the answer is the model's own whatever is proposed, so that the blocks can be counted
on answers that are there, without a pass of the model.
"""

from collections.abc import Sequence

from operators.prefix import common_prefix


def passes(answer: Sequence[int], proposed: Sequence[Sequence[int]]) -> int:
    """The passes in which blockwise decoding gives an answer, which greedy decoding gives in one a token.

    Args:
        answer: its tokens, the one that ends it last.
        proposed: for each of these, what was proposed to follow it.
    """
    place, count = 0, 1
    while place < len(answer) - 1:
        # The token that ends the answer is no part of a draft: the row before it says it.
        place += 1 + common_prefix(list(proposed[place]), list(answer[place + 1 : -1]))
        count += 1
    return count


def mean_block(
    answers: Sequence[Sequence[int]], proposed: Sequence[Sequence[Sequence[int]]], heads: int
) -> float:
    """Tokens of a pass with the first ``heads`` proposals of each place, over all answers.

    The pass over the prompt counts, which has nothing to verify yet; greedy decoding has 1.
    """
    counts = [
        passes(answer, [place[:heads] for place in places])
        for answer, places in zip(answers, proposed, strict=True)
    ]
    return sum(map(len, answers)) / max(1, sum(counts))
