"""How far a block of proposed tokens stands in the pass that looked at it."""

from collections.abc import Sequence
from typing import NamedTuple

from operators.decoding.acceptance import Acceptance
from operators.decoding.forward import Logits, best_tokens


class Verified(NamedTuple):
    """What one pass says about a block of n proposed tokens."""

    #: Tokens of the output before the block.
    begin: int
    proposed: Sequence[int]
    #: How many of them stand.
    stood: int
    #: The model's choice after each prefix of the block, the empty one first. That at ``stood`` is its own
    #: next token; those after it are guesses behind one that fell. The whole block has one, unless the pass
    #: left its last token out.
    choices: list[int]
    #: Shape (n + 1, vocabulary); valid until the next pass.
    rows: Logits
    acceptance: Acceptance


def verify(begin: int, proposed: Sequence[int], rows: Logits, acceptance: Acceptance) -> Verified:
    """Compare ``proposed`` with the model's rows, the first of which judges the first proposed token."""
    # All argmaxes in one call: a row costs little beside its pass.
    choices = best_tokens(rows)
    stood = acceptance.stood(rows, choices, proposed)
    return Verified(begin, proposed, stood, choices, rows, acceptance)
