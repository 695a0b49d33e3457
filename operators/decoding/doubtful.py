"""An output that ends with its first new doubtful token: more would be a guess based on a guess.

For unfinished input whose last output is the next draft: the rest is decoded at the next update, which has
more input.
"""

from collections.abc import Callable
from typing import NamedTuple

from operators.decoding.forward import Decoded, Forward, Method, Task


class Doubt(NamedTuple):
    """Where an output may end early."""

    #: A less probable token ends the output.
    least: float
    #: Place of the first token that may be the last one; earlier ones never end the output.
    begin: int
    #: Whether a token can be doubtful; punctuation says nothing about the audio.
    counts: Callable[[int], bool]


def until_doubtful(
    method: Method, task: Task, doubt: Doubt, probability: Callable[[int, int], float]
) -> Method:
    """Run ``method``, made for ``task``, to its end, or up to and including its first doubtful token.

    Args:
        probability: Gives the probability of a token at a place of prompt and output that a pass has judged.
    """
    begin = len(task.prompt)
    try:
        request = next(method)
        while True:
            rows = yield request
            request = method.send(rows)
            # Requests after the first pass begin after the model's own last token.
            if isinstance(request, Forward):
                output = request.tokens[begin : request.logits_from + 1]
                place = len(output) - 1
                may_end = place >= doubt.begin and doubt.counts(output[place])
                if may_end and probability(begin + place, output[place]) < doubt.least:
                    method.close()
                    return Decoded(tuple(output), is_whole=False)
    except StopIteration as end:
        decoded: Decoded = end.value
        return decoded
