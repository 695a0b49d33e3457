"""An output that ends with its first new doubtful token: what comes after it would be a guess upon a guess.

For unfinished input whose last output is the draft of the next: what is left out is decoded at the next
update, which knows more.
"""

from collections.abc import Callable
from typing import NamedTuple

from operators.decoding.forward import Decoded, Forward, Method, Task


class Doubt(NamedTuple):
    """Where an output may end early."""

    #: Least probability of a token after which it goes on.
    least: float
    #: Place of the first token that may be the last one; those before are decoded whatever they are.
    begin: int
    #: Whether a token is one that can be doubted; punctuation says nothing of what was heard.
    counts: Callable[[int], bool]


def until_doubtful(
    method: Method, task: Task, doubt: Doubt, probability: Callable[[int, int], float]
) -> Method:
    """Run ``method``, made for ``task``, to its end or to its first doubtful token, the last one then.

    Args:
        probability: That of a token at a place of prompt and output, of those that a pass has judged.
    """
    begin = len(task.prompt)
    try:
        request = next(method)
        while True:
            rows = yield request
            request = method.send(rows)
            # What is asked for after the first pass begins behind the model's own last token.
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
