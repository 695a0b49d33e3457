"""How many tokens a pass is filled up to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.pass_cost import PassCosts
from operators.serving.passes import fill_of


@pytest.mark.parametrize(
    ("costs", "fill"),
    [
        # Each token costs the same: there is nothing to wait for.
        (PassCosts((1, 2, 64), (10.0, 20.0, 640.0)), 1),
        # From 16 tokens on it costs the same again.
        (PassCosts((1, 16, 64), (10.0, 16.0, 64.0)), 14),
        # A pass costs the same whatever is in it, as on a GPU: as much as there is.
        (PassCosts((1, 512), (1.0, 1.0)), 466),
    ],
)
def test_a_pass_is_filled_up_to_where_a_token_stops_getting_cheaper(costs: PassCosts, fill: int) -> None:
    assert fill_of(costs) == fill


@given(st.lists(st.floats(0.1, 1000.0), min_size=1, max_size=8))
def test_no_pass_has_tokens_that_are_much_cheaper(ms: list[float]) -> None:
    costs = PassCosts(tuple(2**n for n in range(len(ms))), tuple(sorted(ms)))
    fill = fill_of(costs)
    assert 1 <= fill <= costs.tokens[-1]
    best = min(costs.of(tokens) / tokens for tokens in range(1, costs.tokens[-1] + 1))
    assert costs.of(fill) / fill <= 1.1 * best * (1 + 1e-9)
