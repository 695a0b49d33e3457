"""How windows of speech are decoded: the last hypothesis is the draft of the next.

A recogniser of growing windows does what a re-translator does: it decodes the whole utterance anew at each
update. So the same generators of forward passes serve it (SSBD; Zeng et al., section 3). Partials lean
towards what was heard before; the final is greedy decoding's.
"""

import msgspec

from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.certain import certain
from operators.decoding.closing import Closing
from operators.decoding.forward import Method, Task
from operators.decoding.greedy import retranslate
from operators.decoding.pass_cost import BlockLength, PassCosts
from operators.decoding.recycling import recycling
from operators.decoding.ssbd import ssbd


class SpeechMethod(msgspec.Struct, frozen=True, kw_only=True):
    """A way to decode windows."""

    #: Whether the last hypothesis is the draft; without it, each window is decoded from scratch.
    use_draft: bool = True
    #: Beta of partials: how far the distribution leans towards the last hypothesis.
    bias: float = 0.2


def decode_speech(method: SpeechMethod, task: Task, *, margin: float, costs: PassCosts) -> Method:
    """Decode one window.

    :arg margin: Least gap between two logits that the model's passes over many tokens can tell apart; see
        `certain`.
    :arg costs: What passes of the model cost: what drafts behind a divergence are weighed against.
    """
    if not method.use_draft:
        return retranslate(task)
    if task.is_final:
        return certain(task, margin)
    others = recycling(task, BlockLength(costs)), Closing(task)
    return ssbd(task, BiasedAcceptance(method.bias), None, *others)
