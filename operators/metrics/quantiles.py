"""Quantiles of the latest values."""

from array import array

import numpy as np

#: Values that are kept at least: those of two days of speech.
MAX_KEPT = 2**18


class Quantiles:
    """Keeps values, such as seconds."""

    def __init__(self) -> None:
        #: How many values there were, and their sum.
        self.count = 0
        self.total = 0.0
        self._values = array("d")

    def add(self, value: float) -> None:
        """Count one value."""
        self.count += 1
        self.total += value
        self._values.append(value)
        if len(self._values) > 2 * MAX_KEPT:
            del self._values[:MAX_KEPT]

    def at(self, *shares: float) -> list[float]:
        """The quantiles for these shares, each from 0 to 1. There must be at least one value."""
        return [float(value) for value in np.quantile(self._values, shares)]


def milliseconds(values_s: Quantiles, share: float) -> float | None:
    """A quantile of seconds in milliseconds, rounded for a table; None if there are no values."""
    return round(1000 * values_s.at(share)[0], 1) if values_s.count else None
