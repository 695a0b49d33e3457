"""Quantiles are those of the latest values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.metrics.quantiles import Quantiles


def counted(values: list[float]) -> Quantiles:
    quantiles = Quantiles()
    for value in values:
        quantiles.add(value)
    return quantiles


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60), st.floats(0, 1))
def test_they_are_what_numpy_gives(values: list[float], share: float) -> None:
    assert counted(values).at(share, 0.5) == [np.quantile(values, share), np.quantile(values, 0.5)]


def test_only_the_latest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("operators.metrics.quantiles.MAX_KEPT", 4)
    quantiles = counted([100.0] * 4 + [1.0] * 5)
    assert (quantiles.count, quantiles.total, quantiles.at(1.0)) == (9, 405.0, [1.0])
