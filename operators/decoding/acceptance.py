"""Whether a proposed token stands, given the model's own distribution at its position."""

from typing import Protocol

import numpy as np

from operators.decoding.forward import Logits


class Acceptance(Protocol):
    """The rule of verification: one method."""

    def accepts(self, row: Logits, best: int, proposed: int, place: int) -> bool:
        """Whether ``proposed`` stands where the model's most likely token is ``best``.

        ``row`` has shape (vocabulary,); ``place`` counts from 0 in the block that was proposed. Called only
        where the two tokens differ.
        """
        ...


class ExactAcceptance:
    """Only the most likely token stands: what comes out is what greedy decoding gives."""

    def accepts(self, row: Logits, best: int, proposed: int, place: int) -> bool:  # noqa: ARG002 - the protocol
        """Never: the rule is asked only where the tokens differ."""
        return False


class BiasedAcceptance:
    """Acceptance under a bias towards the draft (SSBD, Zeng et al., section 3.2).

    Greedy decoding from P' = (1 - bias) * P + bias * delta(draft) picks the draft token exactly if
    p_best - p_draft <= bias / (1 - bias). With bias 0 only the most likely token stands; from 0.5 on
    every draft token does.
    """

    def __init__(self, bias: float) -> None:
        """``bias`` is the paper's beta, from 0 to 1."""
        if not 0.0 <= bias <= 1.0:
            raise ValueError(f"bias {bias} is not between 0 and 1")
        self._rule = DistanceAcceptance(1.0 if bias >= 0.5 else bias / (1.0 - bias))

    def accepts(self, row: Logits, best: int, proposed: int, place: int) -> bool:
        """Whether the draft token is close enough to the best one, in probability."""
        return self._rule.accepts(row, best, proposed, place)


class DistanceAcceptance:
    """Acceptance within a distance of the best token (Stern et al. 2018, section 5.2), in probability.

    Their distance is one of pixel values. The words of a language have no such scale but their
    probability: a token stands if p_best - p_proposed <= distance.
    """

    def __init__(self, distance: float) -> None:
        """``distance`` is from 0, which is exact, to 1, which takes everything."""
        if not 0.0 <= distance <= 1.0:
            raise ValueError(f"distance {distance} is not between 0 and 1")
        self._distance = distance

    def accepts(self, row: Logits, best: int, proposed: int, place: int) -> bool:  # noqa: ARG002 - the protocol
        """Whether the proposed token is close enough to the best one."""
        if self._distance in (0.0, 1.0):
            return self._distance == 1.0
        shortfall = 1.0 - float(np.exp(row[proposed] - row[best]))
        # p_best is at most 1: where the ratio alone decides, the sum over the vocabulary is spared.
        if shortfall <= self._distance:
            return True
        p_best = 1.0 / float(np.exp(row - row[best]).sum())
        return p_best * shortfall <= self._distance


class TopAcceptance:
    """Acceptance of the k most likely tokens (Stern et al. 2018, section 5.1)."""

    def __init__(self, k: int) -> None:
        """``k`` of 1 is exact."""
        if k < 1:
            raise ValueError(f"top {k} holds no token")
        self._k = k

    def accepts(self, row: Logits, best: int, proposed: int, place: int) -> bool:  # noqa: ARG002 - the protocol
        """Whether fewer than k tokens are likelier than the proposed one."""
        return self._k > 1 and int(np.count_nonzero(row > row[proposed])) < self._k


class MinimumBlock:
    """A rule under which the first tokens of a block stand whatever the model says (Stern et al., 5.3).

    Their block counts the model's own next token, which always stands: a block of at least ``size`` takes
    ``size`` - 1 proposed tokens unseen.
    """

    def __init__(self, rule: Acceptance, size: int) -> None:
        """``size`` of 1 leaves ``rule`` as it is."""
        if size < 1:
            raise ValueError(f"a block of {size} tokens is none")
        self._rule = rule
        self._unseen = size - 1

    def accepts(self, row: Logits, best: int, proposed: int, place: int) -> bool:
        """Whether the token is among the first of its block, or the rule takes it."""
        return place < self._unseen or self._rule.accepts(row, best, proposed, place)


EXACT = ExactAcceptance()
