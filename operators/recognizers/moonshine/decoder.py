"""What is said in a window, decoded with the hypothesis of the window before as the draft.

A recogniser of growing windows does what a re-translator does: it decodes the whole utterance anew at each
update. So the same generators of forward passes serve it (SSBD; Zeng et al., section 3). Partials lean
towards what was heard before; the final is greedy decoding's.
"""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.certain import certain
from operators.decoding.certainty import Certainty
from operators.decoding.closing import Closing
from operators.decoding.drive import Cost, drive
from operators.decoding.forward import Decoded, Method, Task
from operators.decoding.greedy import retranslate
from operators.decoding.pass_cost import BlockLength, PassCosts
from operators.decoding.recycling import recycling
from operators.decoding.session import KvCache, PrefixSession
from operators.decoding.ssbd import ssbd
from operators.events import SAMPLE_RATE
from operators.recognizers.moonshine.model import BEGIN, END

#: A pass of the tiny model by its tokens, in milliseconds: what its proposals are weighed against.
_COSTS = PassCosts((1, 8, 32), (2.8, 4.0, 8.5))


class SpeechMethod(msgspec.Struct, frozen=True, kw_only=True):
    """How windows are decoded."""

    #: Whether the last hypothesis is the draft; without it, each window is decoded from scratch.
    use_draft: bool = True
    #: Beta of partials: how far the distribution leans towards the last hypothesis.
    bias: float = 0.2
    #: Least gap between two logits that a final's passes over many tokens are trusted to tell apart. The
    #: noise of the model that comes along exceeds it in one token of forty, see docs/recognizers.md.
    margin: float = 0.2
    #: Tokens that a second of speech may have, as its makers limit it, and those that any window may have.
    tokens_per_s: float = 6.5
    min_tokens: int = 8


class Heard(NamedTuple):
    """What a window was decoded to."""

    tokens: tuple[int, ...]
    #: The model's own probability of the token at a place; it can be asked until the next window.
    probability: Callable[[int], float]
    decoded: Decoded
    cost: Cost


def limit(method: SpeechMethod, samples: int) -> int:
    """Tokens that the transcript of a window may have."""
    return method.min_tokens + round(method.tokens_per_s * samples / SAMPLE_RATE)


def decode(
    method: SpeechMethod, cache: KvCache, draft: tuple[int, ...], samples: int, *, is_final: bool
) -> Heard:
    """Decode one window of so many ``samples``, whose encoder states ``cache`` is over.

    Raises `ModelTrouble` where the model fails.
    """
    task = Task(
        prompt=[BEGIN],
        draft=draft if method.use_draft else (),
        stop={END},
        limit=limit(method, samples),
        is_final=is_final,
    )
    session = Certainty(PrefixSession(cache))
    decoded, cost = drive(_generator(method)(task), session)
    return Heard(
        decoded.tokens,
        lambda place: session.of(len(task.prompt) + place, decoded.tokens[place]),
        decoded,
        cost,
    )


def _generator(method: SpeechMethod) -> Callable[[Task], Method]:
    if not method.use_draft:
        return retranslate
    rule, length = BiasedAcceptance(method.bias), BlockLength(_COSTS)

    def decode(task: Task) -> Method:
        if task.is_final:
            return certain(task, method.margin)
        return ssbd(task, rule, None, recycling(task, length), Closing(task))

    return decode
