"""Acceptance rules: how many tokens of a proposed block are accepted, given the model's distributions.

To add a rule, write its class and name it in `RULES`. The defaults for each kind of model are at the end.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from operators.decoding.forward import Logits


class Acceptance(Protocol):
    """A rule that verifies proposed tokens."""

    #: Whether only the model's own choice is accepted.
    is_exact: bool = False

    def accepts(self, row: Logits, best: int, proposed: int) -> bool:
        """Whether ``proposed`` is accepted although the model's most likely token is ``best``.

        ``row`` has shape (vocabulary,).
        """
        ...

    def accepted_length(self, rows: Logits, choices: Sequence[int], proposed: Sequence[int]) -> int:
        """How many of the first ``proposed`` tokens are accepted: those before the first rejected one.

        ``rows`` has shape (positions, vocabulary); the first row verifies the first proposed token.
        ``choices`` are the most likely tokens of the rows. There is at least one row per proposed token.
        """
        place = 0
        while place < len(proposed) and (
            choices[place] == proposed[place] or self.accepts(rows[place], choices[place], proposed[place])
        ):
            place += 1
        return place


class TopAcceptance(Acceptance):
    """Acceptance of the k most likely tokens (Stern et al. 2018, section 5.1); 1 is exact."""

    def __init__(self, k: float) -> None:
        if k < 1 or k % 1:
            raise ValueError(f"{k:g} is not a number of tokens")
        self._k = k
        self.is_exact = k == 1

    @override
    def accepts(self, row: Logits, best: int, proposed: int) -> bool:
        return self._k > 1 and int(np.count_nonzero(row > row[proposed])) < self._k


#: Accepts only the most likely token: the output is that of greedy decoding.
EXACT = TopAcceptance(1)


#: Gives the output embeddings of tokens, which are rows of the model's output matrix: (tokens, width).
Embeddings = Callable[[Sequence[int]], NDArray[np.float32]]


class DistanceAcceptance(Acceptance):
    """Acceptance within a distance of the best token in the output space (Stern et al. 2018, section 5.2).

    The paper compares intensities of pixels: d(y, best) <= epsilon. This rule compares tokens by the cosine
    distance of their output embeddings: 0 for the same direction, 1 for no relation.
    """

    def __init__(self, epsilon: float, embeddings: Embeddings | None = None) -> None:
        """``embeddings`` are needed only when a token is verified; an ``epsilon`` of 0 is exact."""
        if not 0.0 <= epsilon <= 2.0:
            raise ValueError(f"{epsilon:g} is not between 0 and 2")
        self._epsilon, self._embeddings = epsilon, embeddings
        self.is_exact = epsilon == 0.0

    @override
    def accepts(self, row: Logits, best: int, proposed: int) -> bool:
        if self.is_exact:
            return False
        assert self._embeddings is not None, "verification by distance needs the embeddings"
        one, other = self._embeddings([best, proposed])
        size = float(np.linalg.norm(one) * np.linalg.norm(other))
        return size > 0.0 and 1.0 - float(one @ other) / size <= self._epsilon


class MarginAcceptance(Acceptance):
    """Acceptance within a difference of probabilities; our own rule.

    A token is accepted if p_best - p_proposed <= margin. A margin of 0 is exact, and 1 accepts all tokens.
    """

    def __init__(self, margin: float) -> None:
        if not 0.0 <= margin <= 1.0:
            raise ValueError(f"{margin:g} is not between 0 and 1")
        self._margin = margin
        self.is_exact = margin == 0.0

    @override
    def accepts(self, row: Logits, best: int, proposed: int) -> bool:
        if self._margin in (0.0, 1.0):
            return self._margin == 1.0
        shortfall = 1.0 - float(np.exp(row[proposed] - row[best]))
        # p_best is at most 1: where the ratio alone decides, no sum over the vocabulary is needed.
        if shortfall <= self._margin:
            return True
        p_best = 1.0 / float(np.exp(row - row[best]).sum())
        return p_best * shortfall <= self._margin


class BiasedAcceptance(MarginAcceptance):
    """Acceptance under a bias towards the draft (SSBD, Zeng et al., section 3.2).

    Greedy decoding from P' = (1 - bias) * P + bias * delta(draft) picks the draft token exactly if
    p_best - p_draft <= bias / (1 - bias). With bias 0 only the most likely token is accepted; from 0.5 on
    every draft token is.
    """

    def __init__(self, bias: float) -> None:
        """``bias`` is the paper's beta, from 0 to 1."""
        if not 0.0 <= bias <= 1.0:
            raise ValueError(f"bias {bias:g} is not between 0 and 1")
        super().__init__(1.0 if bias >= 0.5 else bias / (1.0 - bias))


class UtilityAcceptance(Acceptance):
    """Cuts a draft where the gain is worth the erasure; our own rule, see docs/method.md.

    Cutting a draft of n tokens at place i erases n - i of them. The gain is their shortfall against the
    model's own choices: log p_best - log p_draft, summed from i on. The draft is cut where the gain exceeds
    the price of the erasure (``price`` nats per token) by most, and nowhere if it never does. So a doubtful
    word at the end of a caption is corrected at once, an earlier one only for a clear gain, and several small
    doubts add up. Unlike rules for single tokens, this one evaluates the whole draft before it decides.
    """

    def __init__(self, price: float) -> None:
        """``price`` is in nats for each erased token: 0 is exact except for ties."""
        if not price >= 0.0:
            raise ValueError(f"{price:g} is not 0 or more")
        self._price = price
        self.is_exact = price == 0.0

    @override
    def accepts(self, row: Logits, best: int, proposed: int) -> bool:
        return float(row[best] - row[proposed]) <= self._price

    @override
    def accepted_length(self, rows: Logits, choices: Sequence[int], proposed: Sequence[int]) -> int:
        count = len(proposed)
        if count == 0:
            return 0
        places = np.arange(count)
        # The normalisation of a row cancels in the difference: no sum over the vocabulary is needed.
        lost: NDArray[np.float64] = (rows[places, choices[:count]] - rows[places, list(proposed)]).astype(
            float
        )
        # For each place, from the end: the gain of cutting there minus its price.
        net = np.cumsum((lost - self._price)[::-1])
        erased = int(net.argmax()) + 1
        return count - erased if net[erased - 1] > 0.0 else count


class MinimumBlock(Acceptance):
    """Accepts the first tokens of a block whatever the model's logits are (Stern et al., 5.3).

    The block of the paper includes the model's own next token, which is always accepted. So a block of at
    least ``size`` takes ``size`` - 1 proposed tokens without a check.
    """

    def __init__(self, rule: Acceptance, size: int) -> None:
        """A ``size`` of 1 does not change ``rule``."""
        if size < 1:
            raise ValueError(f"a block cannot have {size} tokens")
        self._rule = rule
        self._unseen = size - 1
        self.is_exact = rule.is_exact and size == 1

    @override
    def accepts(self, row: Logits, best: int, proposed: int) -> bool:
        return self._rule.accepts(row, best, proposed)

    @override
    def accepted_length(self, rows: Logits, choices: Sequence[int], proposed: Sequence[int]) -> int:
        unseen = min(self._unseen, len(proposed))
        return unseen + self._rule.accepted_length(rows[unseen:], choices[unseen:], proposed[unseen:])


#: The constructors of rules, by their names in ``translate.accept`` and ``translate.proposal_accept``. N is a
#: number; the rule ``bias`` takes the number from ``translate.bias``.
RULES: Mapping[str, Callable[[float], Acceptance]] = {
    "bias": BiasedAcceptance,
    "bias-N": BiasedAcceptance,
    "exact": lambda _: EXACT,
    "utility-N": UtilityAcceptance,
    "top-N": TopAcceptance,
    "near-N": DistanceAcceptance,
    "within-N": MarginAcceptance,
}


def acceptance(name: str, bias: float | None = None, embeddings: Embeddings | None = None) -> Acceptance:
    """The rule of this name, such as ``top-2``; raises `ValueError`.

    Only ``bias`` uses the bias, and only ``near-N`` the embeddings.
    """
    kind, dash, number = name.partition("-")
    make = RULES.get(f"{kind}-N" if dash else kind)
    if make is None:
        raise ValueError(f"accept: there is no rule {name!r}; choose from auto, {', '.join(RULES)}")
    if make is DistanceAcceptance:
        make = partial(DistanceAcceptance, embeddings=embeddings)
    try:
        return make(float(number) if dash else bias or 0.0)
    except ValueError as error:
        raise ValueError(f"accept: the rule {name!r} is not possible: {error}") from None


#: Beta of the paper (Zeng et al., section 4).
BIAS = 0.2
#: The rule for models trained on unfinished text: its captions are better than those of the bias rule, at the
#: same erasure or less. Higher prices erase even less, but keep drafts without a sentence's end
#: (docs/method.md).
UTILITY = "utility-0.6"
#: Number of draft tokens that a final with less bias verifies first (8e8a84cd:docs/decoding.md).
FINAL_BLOCK = 7


class Rules(NamedTuple):
    """The acceptance rules for draft tokens, by their names; a bias is None unless the rule is ``bias``."""

    accept: str
    bias: float | None
    #: Rule and bias for the last update of a segment.
    final_accept: str
    final_bias: float | None

    @property
    def finals_differ(self) -> bool:
        return self[:2] != self[2:]

    @property
    def used(self) -> dict[str, str | float | None]:
        """The settings that have an effect; a bias that its rule does not use is None."""
        return {"accept": self.accept, "bias": self.bias, "final_bias": self.final_bias}

    @property
    def drops_bias(self) -> bool:
        """Whether the last update has less bias: then little of a draft made with more bias is accepted."""
        return self.final_bias is not None and self.bias is not None and self.final_bias < self.bias


def suited_rules(accept: str, bias: float | None, final_bias: float | None, knows_unfinished: bool) -> Rules:
    """The rules that the settings give; where they leave them open, those that suit the model.

    ``knows_unfinished``: whether the model was trained on unfinished text.
    """
    if accept == "auto":
        is_open = bias is None and final_bias is None
        accept = UTILITY if is_open and knows_unfinished else "bias"
    if accept != "bias":
        return Rules(accept, None, accept, None)
    bias = BIAS if bias is None else bias
    # The drafts of other models hold guesses that a bias would preserve in the final. But a final that does
    # not favour the draft at all is a translation from scratch. A bias of 0 applies to the final too.
    if final_bias is None and bias > 0.0 and not knows_unfinished:
        return Rules(accept, bias, UTILITY, None)
    return Rules(accept, bias, accept, bias if final_bias is None else final_bias)
