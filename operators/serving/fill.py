"""How many tokens a pass is filled up to: where the cost of one of them stops falling."""

from operators.decoding.pass_cost import PassCosts

#: A token may cost more by this share than in the pass where it costs least: the last bit of throughput is
#: bought with a wait for everybody.
_NEARLY = 0.1


def fill_of(costs: PassCosts) -> int:
    """The smallest pass whose tokens cost nearly as little as in any pass up to the largest measured one."""
    each = [costs.of(tokens) / tokens for tokens in range(1, costs.tokens[-1] + 1)]
    bearable = (1 + _NEARLY) * min(each)
    return next(tokens for tokens, ms in enumerate(each, 1) if ms <= bearable)
