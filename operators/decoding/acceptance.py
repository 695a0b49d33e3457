"""How many tokens of a proposed block are accepted, given the model's distribution at each place."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from typing_extensions import override

from operators.decoding.forward import Logits


class Acceptance(Protocol):
    """The rule of verification."""

    #: Whether only the model's own choice is accepted.
    is_exact: bool = False

    def accepts(self, row: Logits, best: int, proposed: int) -> bool:
        """Whether ``proposed`` is accepted where the model's most likely token is ``best``, a different one.

        ``row`` has shape (vocabulary,).
        """
        ...

    def accepted_length(self, rows: Logits, choices: Sequence[int], proposed: Sequence[int]) -> int:
        """How many of the first ``proposed`` tokens are accepted: those before the first rejected one.

        ``rows`` has shape (positions, vocabulary); the first row judges the first proposed token.
        ``choices`` are the most likely tokens of the rows. There is at least one for each proposed token.
        """
        place = 0
        while place < len(proposed) and (
            choices[place] == proposed[place] or self.accepts(rows[place], choices[place], proposed[place])
        ):
            place += 1
        return place


class ExactAcceptance(Acceptance):
    """Accepts only the most likely token: the output is that of greedy decoding."""

    is_exact = True

    @override
    def accepts(self, row: Logits, best: int, proposed: int) -> bool:
        """Never, because the rule is asked only where the tokens differ."""
        return False


class BiasedAcceptance(Acceptance):
    """Acceptance under a bias towards the draft (SSBD, Zeng et al., section 3.2).

    Greedy decoding from P' = (1 - bias) * P + bias * delta(draft) picks the draft token exactly if
    p_best - p_draft <= bias / (1 - bias). With bias 0 only the most likely token is accepted; from 0.5 on
    every draft token is.
    """

    def __init__(self, bias: float) -> None:
        """``bias`` is the paper's beta, from 0 to 1."""
        if not 0.0 <= bias <= 1.0:
            raise ValueError(f"bias {bias} is not between 0 and 1")
        self._rule = DistanceAcceptance(1.0 if bias >= 0.5 else bias / (1.0 - bias))
        self.is_exact = self._rule.is_exact

    @override
    def accepts(self, row: Logits, best: int, proposed: int) -> bool:
        """Whether the draft token is close enough to the best one, in probability."""
        return self._rule.accepts(row, best, proposed)


class DistanceAcceptance(Acceptance):
    """Acceptance within a distance of the best token (Stern et al. 2018, section 5.2), in probability.

    Their distance is between pixel values. Words have no such scale except their probability: a token is
    accepted if p_best - p_proposed <= distance.
    """

    def __init__(self, distance: float) -> None:
        """``distance`` is from 0, which is exact, to 1, which accepts everything."""
        if not 0.0 <= distance <= 1.0:
            raise ValueError(f"distance {distance} is not between 0 and 1")
        self._distance = distance
        self.is_exact = distance == 0.0

    @override
    def accepts(self, row: Logits, best: int, proposed: int) -> bool:
        """Whether the proposed token is close enough to the best one."""
        if self._distance in (0.0, 1.0):
            return self._distance == 1.0
        shortfall = 1.0 - float(np.exp(row[proposed] - row[best]))
        # p_best is at most 1: where the ratio alone decides, no sum over the vocabulary is needed.
        if shortfall <= self._distance:
            return True
        p_best = 1.0 / float(np.exp(row - row[best]).sum())
        return p_best * shortfall <= self._distance


class TopAcceptance(Acceptance):
    """Acceptance of the k most likely tokens (Stern et al. 2018, section 5.1)."""

    def __init__(self, k: int) -> None:
        """``k`` of 1 is exact."""
        if k < 1:
            raise ValueError(f"top {k} holds no token")
        self._k = k
        self.is_exact = k == 1

    @override
    def accepts(self, row: Logits, best: int, proposed: int) -> bool:
        """Whether fewer than k tokens are likelier than the proposed one."""
        return self._k > 1 and int(np.count_nonzero(row > row[proposed])) < self._k


class WorthAcceptance(Acceptance):
    """Cuts a draft where the gain is worth the erasure; our own rule, see docs/decoding.md.

    Cutting a draft of n tokens at place i erases n - i of them, and gains what they lose against the model's
    own choices: log p_best - log p_draft, summed from i on. The draft is cut where the gain exceeds the price
    of the erasure (``price`` nats a token) by most, and nowhere if it never does. So a doubtful word at the
    end of a caption is corrected at once, an earlier one only for a clear gain, and several small doubts add
    up. Unlike rules for single tokens, this one looks at the whole draft before it decides.
    """

    def __init__(self, price: float) -> None:
        """``price`` is in nats for each erased token: 0 is exact except for ties."""
        if not price >= 0.0:
            raise ValueError(f"price {price} is not 0 or more")
        self._price = price
        self.is_exact = price == 0.0

    @override
    def accepts(self, row: Logits, best: int, proposed: int) -> bool:
        """Whether the token alone loses no more than its erasure costs."""
        return float(row[best] - row[proposed]) <= self._price

    @override
    def accepted_length(self, rows: Logits, choices: Sequence[int], proposed: Sequence[int]) -> int:
        """The place to cut at; among equal ones the last, which erases least."""
        count = len(proposed)
        if count == 0:
            return 0
        places = np.arange(count)
        # The normalisation of a row cancels in the difference: no sum over the vocabulary is needed.
        lost = (rows[places, choices[:count]] - rows[places, list(proposed)]).astype(np.float64)
        # For each place, from the end: the gain of cutting there minus its price.
        net = np.cumsum((lost - self._price)[::-1])
        erased = int(net.argmax()) + 1
        return count - erased if net[erased - 1] > 0.0 else count


class MinimumBlock(Acceptance):
    """Accepts the first tokens of a block whatever the model says (Stern et al., 5.3).

    Their block includes the model's own next token, which is always accepted: a block of at least ``size``
    takes ``size`` - 1 proposed tokens without a check.
    """

    def __init__(self, rule: Acceptance, size: int) -> None:
        """A ``size`` of 1 does not change ``rule``."""
        if size < 1:
            raise ValueError(f"a block of {size} tokens is none")
        self._rule = rule
        self._unseen = size - 1
        self.is_exact = rule.is_exact and size == 1

    @override
    def accepts(self, row: Logits, best: int, proposed: int) -> bool:
        """Whether the rule accepts it."""
        return self._rule.accepts(row, best, proposed)

    @override
    def accepted_length(self, rows: Logits, choices: Sequence[int], proposed: Sequence[int]) -> int:
        """The first ones, and after them as many as the rule accepts."""
        unseen = min(self._unseen, len(proposed))
        return unseen + self._rule.accepted_length(rows[unseen:], choices[unseen:], proposed[unseen:])


EXACT = ExactAcceptance()
