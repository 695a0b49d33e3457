"""The number of tokens to fill a pass with: the point where the cost per token stops falling."""

from operators.decoding.pass_cost import PassCosts

#: A token may cost more than in the cheapest pass by this share, because the last bit of throughput would
#: make every room wait longer.
_NEARLY = 0.1


def fill_of(costs: PassCosts) -> int:
    """The smallest pass whose cost per token is near the minimum, among passes up to the largest measured."""
    each = [costs.of(tokens) / tokens for tokens in range(1, costs.tokens[-1] + 1)]
    bearable = (1 + _NEARLY) * min(each)
    return next(tokens for tokens, ms in enumerate(each, 1) if ms <= bearable)
