"""How many tokens a pass is filled up to: where the cost of one of them stops falling."""

from operators.decoding.pass_cost import PassCosts

#: The sizes of passes whose cost is measured for this: the requests of many rooms are more than one draft.
FILL_SIZES = (1, 2, 3, 4, 8, 16, 32, 64, 128)
#: A token may cost more by this share than in the pass where it costs least: the last bit of throughput is
#: bought with a wait for everybody.
_NEARLY = 0.1


def fill_of(costs: PassCosts, largest: int) -> int:
    """The smallest pass whose tokens cost nearly as little as in any of up to ``largest`` tokens."""
    each = [costs.of(tokens) / tokens for tokens in range(1, largest + 1)]
    bearable = (1 + _NEARLY) * min(each)
    return next(tokens for tokens, ms in enumerate(each, 1) if ms <= bearable)
