"""Acceptance rules by name, as the settings and the command line give them.

A new rule is a class in `operators.decoding.acceptance` and an entry in `_RULES`.
"""

from collections.abc import Callable
from typing import NamedTuple

from operators.decoding.acceptance import (
    EXACT,
    Acceptance,
    BiasedAcceptance,
    DistanceAcceptance,
    TopAcceptance,
    WorthAcceptance,
)


class _Rule(NamedTuple):
    #: Makes the rule from the bias and the number in its name.
    make: Callable[[float, float], Acceptance]
    #: The letter that stands for the number, a pattern for it, and an example; empty without a number.
    letter: str = ""
    pattern: str = ""
    example: str = ""


_RULES = {
    "bias": _Rule(lambda bias, _number: BiasedAcceptance(bias)),
    "exact": _Rule(lambda _bias, _number: EXACT),
    "worth": _Rule(lambda _bias, price: WorthAcceptance(price), "P", r"[0-9]{1,2}(\.[0-9]{1,9})?", "0.6"),
    "top": _Rule(lambda _bias, k: TopAcceptance(int(k)), "K", r"[1-9][0-9]{0,5}", "2"),
    "within": _Rule(
        lambda _bias, distance: DistanceAcceptance(distance), "D", r"(0(\.[0-9]+)?|1(\.0+)?)", "0.1"
    ),
}

_NUMBERED = {kind: rule for kind, rule in _RULES.items() if rule.letter}
#: A regular expression for the names of rules.
PATTERN = "^({})$".format(
    "|".join(f"{kind}-{rule.pattern}" if rule.letter else kind for kind, rule in _RULES.items())
)
#: The names of rules in words, a letter for each number; and with examples.
NAMES = ", ".join(f"{kind}-{rule.letter}" if rule.letter else kind for kind, rule in _RULES.items())
DESCRIPTION = f"{NAMES} (such as {', '.join(f'{kind}-{rule.example}' for kind, rule in _NUMBERED.items())})"


def acceptance(name: str, bias: float) -> Acceptance:
    """The rule of this name, which must match `PATTERN`; only the rule ``bias`` uses ``bias``."""
    kind, _, number = name.partition("-")
    return _RULES[kind].make(bias, float(number or 0))
