"""How far a block of proposed tokens stands, given the model's own distribution at each of its places."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from typing_extensions import override

from operators.decoding.forward import Logits


class Acceptance(Protocol):
    """The rule of verification."""

    def accepts(self, row: Logits, best: int, proposed: int) -> bool:
        """Whether ``proposed`` may stand where the model's most likely token is ``best``, another one.

        ``row`` has shape (vocabulary,).
        """
        ...

    def stood(self, rows: Logits, choices: Sequence[int], proposed: Sequence[int]) -> int:
        """How many of the first ``proposed`` tokens stand: up to the first that may not.

        ``rows`` has shape (positions, vocabulary), of which the first judges the first proposed token;
        ``choices`` are their most likely tokens. There is at least one for each proposed token.
        """
        place = 0
        while place < len(proposed) and (
            choices[place] == proposed[place] or self.accepts(rows[place], choices[place], proposed[place])
        ):
            place += 1
        return place


class ExactAcceptance(Acceptance):
    """Only the most likely token stands: what comes out is what greedy decoding gives."""

    @override
    def accepts(self, row: Logits, best: int, proposed: int) -> bool:
        """Never: the rule is asked only where the tokens differ."""
        return False


class BiasedAcceptance(Acceptance):
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

    @override
    def accepts(self, row: Logits, best: int, proposed: int) -> bool:
        """Whether the draft token is close enough to the best one, in probability."""
        return self._rule.accepts(row, best, proposed)


class DistanceAcceptance(Acceptance):
    """Acceptance within a distance of the best token (Stern et al. 2018, section 5.2), in probability.

    Their distance is one of pixel values. The words of a language have no such scale but their
    probability: a token stands if p_best - p_proposed <= distance.
    """

    def __init__(self, distance: float) -> None:
        """``distance`` is from 0, which is exact, to 1, which takes everything."""
        if not 0.0 <= distance <= 1.0:
            raise ValueError(f"distance {distance} is not between 0 and 1")
        self._distance = distance

    @override
    def accepts(self, row: Logits, best: int, proposed: int) -> bool:
        """Whether the proposed token is close enough to the best one."""
        if self._distance in (0.0, 1.0):
            return self._distance == 1.0
        shortfall = 1.0 - float(np.exp(row[proposed] - row[best]))
        # p_best is at most 1: where the ratio alone decides, the sum over the vocabulary is spared.
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

    @override
    def accepts(self, row: Logits, best: int, proposed: int) -> bool:
        """Whether fewer than k tokens are likelier than the proposed one."""
        return self._k > 1 and int(np.count_nonzero(row > row[proposed])) < self._k


class WorthAcceptance(Acceptance):
    """A draft is cut where what is won is worth what is erased; ours, see docs/worth.md.

    To cut a draft of n tokens at place i erases n - i of them, and wins what they lose against the model's
    own choices: log p_best - log p_draft, summed from i on. It is cut where the win exceeds the price of the
    erasure by most, ``price`` nats a token, and nowhere if it never does. So a doubtful word at the end of a
    caption is corrected at once, one that much has been built upon only for a clear win, and several small
    doubts count together. Unlike the rules for single tokens it looks at all of the draft before it decides.
    """

    def __init__(self, price: float) -> None:
        """``price`` is in nats for each token erased: 0 is exact but for ties."""
        if not price >= 0.0:
            raise ValueError(f"price {price} is not 0 or more")
        self._price = price

    @override
    def accepts(self, row: Logits, best: int, proposed: int) -> bool:
        """Whether the token by itself loses no more than its own erasure costs."""
        return float(row[best] - row[proposed]) <= self._price

    @override
    def stood(self, rows: Logits, choices: Sequence[int], proposed: Sequence[int]) -> int:
        """The place to cut at; of equal ones the last, where least is erased."""
        count = len(proposed)
        if count == 0:
            return 0
        places = np.arange(count)
        # The normalisation of a row falls out of the difference: no sum over the vocabulary is needed.
        lost = (rows[places, choices[:count]] - rows[places, list(proposed)]).astype(np.float64)
        # From the end on, the win of cutting there less its price.
        net = np.cumsum((lost - self._price)[::-1])
        erased = int(net.argmax()) + 1
        return count - erased if net[erased - 1] > 0.0 else count


class MinimumBlock(Acceptance):
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

    @override
    def accepts(self, row: Logits, best: int, proposed: int) -> bool:
        """Whether the rule takes it."""
        return self._rule.accepts(row, best, proposed)

    @override
    def stood(self, rows: Logits, choices: Sequence[int], proposed: Sequence[int]) -> int:
        """The first ones, and after them as many as by the rule."""
        unseen = min(self._unseen, len(proposed))
        return unseen + self._rule.stood(rows[unseen:], choices[unseen:], proposed[unseen:])


EXACT = ExactAcceptance()
