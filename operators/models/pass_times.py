"""The cost of a pass on this machine by its size, measured once because it cannot be predicted."""

from collections.abc import Callable
from contextlib import closing
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

from operators.decoding.pass_cost import PassCosts
from operators.models.context import BATCH, ContextSettings

if TYPE_CHECKING:
    from operators.models.llama_model import LlamaModel

#: Sizes of the measured passes, in tokens. If many segments share a pass, the last size is doubled as long as
#: that makes a token cheaper.
PASS_SIZES = (1, 2, 3, 4, 8, 12, 16, 24, 32)
#: The minimum gain per token of a larger pass, as a share.
_MIN_GAIN = 0.05
#: If the median turn takes longer than the best one by this factor, the times are unusable.
_MAX_SPREAD = 1.35
_TURNS, _TURNS_OF_LARGE = 5, 3
#: Maximum bytes of the logits of a pass of many rooms: 256 positions for a vocabulary of 262,144 tokens.
_LOGITS_BYTES = 1 << 28
#: Tokens before those of a measured pass, and the sequence that holds only these.
_PROMPT, _PROMPT_SEQUENCE = 48, 1


def measure_costs(seconds: Callable[[int], float], largest: int = PASS_SIZES[-1]) -> PassCosts:
    """Measure the cost of passes by their number of tokens, at most ``largest``; ``seconds`` times one pass.

    Times are minima of several turns, because other programs can only add to them. A larger pass never costs
    less: if it seems to, the machine was busy during the smaller one.
    """
    sizes = [size for size in PASS_SIZES if size <= largest]
    # The first turn includes set-up. Sizes alternate, because the load of the machine may change.
    turns = [[seconds(size) for size in sizes] for _ in range(1 + _TURNS)][1:]
    times = list(zip(*turns, strict=True))
    least = [min(own) for own in times]
    while 2 * sizes[-1] <= largest and _is_cheaper(least[-1] / sizes[-1], least[-2] / sizes[-2]):
        sizes.append(2 * sizes[-1])
        least.append(min(seconds(sizes[-1]) for _ in range(_TURNS_OF_LARGE)))
    return PassCosts(
        tuple(sizes),
        tuple(1000 * min(least[place:]) for place in range(len(least))),
        is_steady=all(median(own) < _MAX_SPREAD * min(own) for own in times),
    )


def _is_cheaper(one: float, other: float) -> bool:
    return one < (1 - _MIN_GAIN) * other


def measure_model(model: "LlamaModel", threads: int) -> PassCosts:
    """Measure passes of a loaded language model, with the logits of all their tokens."""
    from operators.models.llama import LlamaContext

    largest = max(1, min(BATCH, _LOGITS_BYTES // (4 * model.vocabulary_size)))
    settings = ContextSettings(cells=2 * BATCH, sequences=2, threads=threads)
    # Any tokens will do: the time does not depend on them.
    tokens = [2 + n % 200 for n in range(BATCH)]
    with closing(LlamaContext(model, settings)) as context:
        context.evaluate(_PROMPT_SEQUENCE, tokens[:_PROMPT], 0, 1)

        def seconds(size: int) -> float:
            # The prompt is copied, because not every memory can be cut after it.
            context.cut_sequence(0, 0)
            context.copy_sequence(_PROMPT_SEQUENCE, 0)
            began = perf_counter()
            context.evaluate(0, tokens[:size], _PROMPT, size)
            return perf_counter() - began

        return measure_costs(seconds, largest)
