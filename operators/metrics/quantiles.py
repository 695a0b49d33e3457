"""Quantiles of any number of values in bounded memory: exact at first, later within half a per cent.

Few values are kept as they are. More are counted in buckets whose bounds grow by a constant factor, so every
quantile has a constant relative error (DDSketch: Masson, Rim and Lee 2019, section 2), whatever the
distribution of the values.
"""

import math
from array import array

import numpy as np
import numpy.typing as npt

#: Values that are kept as they are: the updates of more than an hour of speech.
MAX_EXACT = 8192
#: Maximum relative error of a quantile of more values than that.
MAX_ERROR = 0.005

# Smaller values count as 0, larger ones as this.
_MIN_VALUE, _MAX_VALUE = 1e-6, 1e6
_GROWTH = math.log((1 + MAX_ERROR) / (1 - MAX_ERROR))
# Buckets on either side of the one for 0.
_SIDE = 1 + math.ceil(math.log(_MAX_VALUE / _MIN_VALUE) / _GROWTH)


class Quantiles:
    """Counts values of either sign, such as seconds."""

    #: Values that are kept as they are.
    exact = MAX_EXACT

    def __init__(self) -> None:
        #: How many values there were, and their sum.
        self.count = 0
        self.total = 0.0
        self._values = array("d")
        self._buckets: npt.NDArray[np.int64] | None = None

    def add(self, value: float) -> None:
        """Count one value."""
        self.count += 1
        self.total += value
        if self._buckets is not None:
            self._buckets[_bucket(value)] += 1
            return
        self._values.append(value)
        if self.count > self.exact:
            self._buckets = np.zeros(2 * _SIDE + 1, np.int64)
            np.add.at(self._buckets, [_bucket(one) for one in self._values], 1)
            self._values = array("d")

    def at(self, *shares: float) -> list[float]:
        """The quantiles for these shares, each from 0 to 1, interpolated as NumPy does.

        There must be at least one value.
        """
        if self._buckets is None:
            return [float(value) for value in np.quantile(self._values, shares)]
        until = np.cumsum(self._buckets)

        def value(rank: int) -> float:
            return _value(int(np.searchsorted(until, rank, side="right")))

        found = []
        for share in shares:
            rank = share * (self.count - 1)
            low, high = value(math.floor(rank)), value(math.ceil(rank))
            found.append(low + (rank - math.floor(rank)) * (high - low))
        return found


def milliseconds(values_s: Quantiles, share: float) -> float | None:
    """A quantile of seconds in milliseconds, rounded for a table; None if there are no values."""
    return round(1000 * values_s.at(share)[0], 1) if values_s.count else None


def _bucket(value: float) -> int:
    """The number of a value's bucket, counted from the most negative one."""
    size = min(abs(value), _MAX_VALUE)
    # A comparison with NaN is false.
    number = 1 + math.ceil(math.log(size / _MIN_VALUE) / _GROWTH) if size >= _MIN_VALUE else 0
    return _SIDE + int(math.copysign(number, value))


def _value(bucket: int) -> float:
    """The value with the smallest relative distance to all in a bucket."""
    number = bucket - _SIDE
    if number == 0:
        return 0.0
    upper = _MIN_VALUE * math.exp((abs(number) - 1) * _GROWTH)
    return math.copysign(upper * (1 - MAX_ERROR), number)
