"""Acceptance rules: how many tokens of a proposed block are accepted, given the model's distributions.

A rule is a class that `rule` gives its name, its help and the form of its number; the settings and the
command line find it by that (`RULES`). Below are the defaults: which rules suit a model.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from operators.decoding.forward import Logits
from operators.errors import UsageError
from operators.parts import Parts


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


class RulePart(NamedTuple):
    """A rule that ``translate.accept NAME`` names."""

    name: str
    #: Makes the rule from the number behind its name. Without one it gets the bias, which is for ``bias``.
    make: Callable[[float], Acceptance]
    #: What it accepts.
    help: str
    #: The letter that stands for the number, and an example; empty without a number.
    letter: str = ""
    example: str = ""
    #: The form of the number. What else it has to be, `make` says with a `ValueError`.
    pattern: str = r"[0-9]{1,2}(\.[0-9]{1,9})?"

    def named(self, number: str) -> str:
        """Its name with a number, or with what stands for one."""
        return f"{self.name}-{number}" if self.letter else self.name


def rule(name: str, help: str, **about: str) -> Callable[[Callable[[float], Acceptance]], RulePart]:
    """Decorate what makes a rule; ``about`` are other fields of `RulePart`.

    Args:
        name: Its name, with a letter for its number if it has one: ``worth-P``.
        help: What it accepts, in a few words.
    """
    kind, _, letter = name.partition("-")
    return lambda make: RulePart(kind, make, help, letter, **about)


class ExactAcceptance(Acceptance):
    """Accepts only the most likely token: the output is that of greedy decoding."""

    is_exact = True

    @override
    def accepts(self, row: Logits, best: int, proposed: int) -> bool:
        """Never, because the rule is asked only where the tokens differ."""
        return False


EXACT = ExactAcceptance()
exact = rule("exact", "only the model's own choice")(lambda _bias: EXACT)


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


bias = rule("bias", "what the bias makes the most probable token")(BiasedAcceptance)


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
        """Those before the place to cut at."""
        places = np.arange(len(proposed))
        # The normalisation of a row cancels in the difference: no sum over the vocabulary is needed.
        lost = rows[places, choices[: len(proposed)]] - rows[places, list(proposed)]
        return self.place(lost.astype(np.float64))

    def place(self, lost: NDArray[np.float64]) -> int:
        """The place to cut at, given what each token loses in nats; among equal ones the last."""
        count = len(lost)
        if count == 0:
            return 0
        # For each place, from the end: the gain of cutting there minus its price.
        net = np.cumsum((lost - self._price)[::-1])
        erased = int(net.argmax()) + 1
        return count - erased if net[erased - 1] > 0.0 else count


worth = rule(
    "worth-P", "all before the place where cutting the draft gains more than P nats for each erased token",
    example="0.6",
)(WorthAcceptance)  # fmt: skip


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


top = rule("top-K", "one of the K most probable tokens", example="2", pattern="[1-9][0-9]{0,5}")(
    lambda k: TopAcceptance(int(k))
)


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


within = rule(
    "within-D", "a probability within D of the best", example="0.1", pattern=r"(0(\.[0-9]+)?|1(\.0+)?)"
)(DistanceAcceptance)


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


RULES = Parts(RulePart, what="an acceptance rule", package=__name__, group="surtitle.rules", usual="bias")


def pattern() -> str:
    """A regular expression for the names of rules."""
    return "|".join(one.named(one.pattern) for one in RULES.values())


def names() -> str:
    """The names of rules, with a letter for each number."""
    return ", ".join(one.named(one.letter) for one in RULES.values())


def description() -> str:
    """The same, with examples."""
    return f"{names()} (such as {', '.join(one.named(one.example) for one in RULES.values() if one.letter)})"


def meanings() -> str:
    """What each rule accepts."""
    return "; ".join(f"``{one.named(one.letter)}``, {one.help}" for one in RULES.values())


def acceptance(name: str, bias: float) -> Acceptance:
    """The rule of this name; only a rule without a number uses ``bias``. Raises `UsageError`."""
    kind, _, number = name.partition("-")
    part = RULES[kind]
    try:
        return part.make(float(number) if part.letter else bias)
    except ValueError as error:
        raise UsageError(f"the acceptance rule {name} cannot be: {error}; correct its number") from None


#: Beta of the paper (Zeng et al., section 4).
BIAS = 0.2
#: The rule for models trained on unfinished text: its captions are better than the bias's at about the same
#: erasure or less. Higher prices erase even less, but keep drafts that lack a sentence's end
#: (docs/decoding.md).
WORTH = "worth-0.6"
#: Draft tokens that a final with less bias verifies first; see the cost model in docs/decoding.md.
FINAL_BLOCK = 7


class Rules(NamedTuple):
    """The acceptance rules for draft tokens, by their names; the biases are those of the rule ``bias``."""

    accept: str
    bias: float
    #: The same for the last update of a segment.
    final_accept: str
    final_bias: float

    @property
    def is_biased(self) -> bool:
        """Whether the rule of unfinished segments uses the bias."""
        return self.accept == "bias"

    @property
    def finals_are_biased(self) -> bool:
        """Whether that of the last update does."""
        return self.final_accept == "bias"

    @property
    def finals_differ(self) -> bool:
        """Whether the last update is checked by another rule."""
        return self.final_accept != self.accept or (self.is_biased and self.final_bias != self.bias)

    @property
    def drops_bias(self) -> bool:
        """Whether the last update has less bias: then little of a draft that was made with it is accepted."""
        return self.finals_are_biased and self.final_bias < self.bias

    def used(self) -> dict[str, str | float | None]:
        """The settings that have an effect; a bias that its rule does not use is None."""
        return {
            "accept": self.accept,
            "bias": self.bias if self.is_biased else None,
            "final_bias": self.final_bias if self.finals_are_biased else None,
        }

    def __str__(self) -> str:
        """The rule in a few characters, with its biases if it uses them."""
        final = f"{self.final_bias:g}" if self.finals_are_biased else self.final_accept
        return f"bias:{self.bias:g}/{final}" if self.is_biased else self.accept


def suited_rules(accept: str, bias: float | None, final_bias: float | None, knows_unfinished: bool) -> Rules:
    """The rules that the settings give; where they leave them open, those that suit the model.

    ``knows_unfinished`` says whether it was trained on unfinished text.
    """
    is_open = accept == "auto" and bias is None and final_bias is None
    if accept == "auto":
        accept = WORTH if is_open and knows_unfinished else "bias"
    bias = BIAS if bias is None else bias
    if final_bias is not None:
        return Rules(accept, bias, accept, final_bias)
    # The drafts of other models hold guesses that a bias would preserve in the final, but a final without any
    # leaning is a translation from scratch. Without a bias nothing leans.
    weighs = accept == "bias" and bias > 0.0 and not knows_unfinished
    final = WORTH if weighs else accept
    return Rules(accept, bias, final, bias)
