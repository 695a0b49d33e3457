"""What passes cost is measured, and what is found is used without changing a result."""

from itertools import count

import pytest

from operators.decoding.forward import Logits
from operators.models.llama import ContextSettings, LlamaContext
from operators.models.llama_model import LlamaModel
from operators.models.pass_times import (
    FILL_SIZES,
    PASS_SIZES,
    KeepCosts,
    measure_costs,
    measure_fill,
    measure_keep,
    measure_row_step,
)
from tests.near_ties import agree


def tiled(rows: int) -> float:
    """Rows beyond a multiple of four are dear, as one llama.cpp has them."""
    return 0.04 + 0.002 * rows + 0.006 * (rows % 4)


def test_logits_are_computed_in_steps_of_four_where_that_is_faster_and_only_there() -> None:
    assert measure_row_step(tiled).rows == 4
    assert measure_row_step(lambda rows: 0.04 + 0.002 * rows).rows == 1


def test_a_machine_that_is_busy_is_known_by_its_times() -> None:
    turns = count()
    # One turn in five is as it should be.
    assert not measure_row_step(lambda _rows: 1.0 if next(turns) // 4 % 5 == 1 else 2.0).is_steady
    sizes = count()
    assert not measure_costs(lambda _size: 1.0 if next(sizes) // len(PASS_SIZES) % 5 == 1 else 2.0).is_steady


def test_a_larger_pass_is_never_taken_to_be_cheaper() -> None:
    costs = measure_costs(lambda tokens: 0.02 if tokens == 8 else 0.001 * tokens)
    assert costs.ms[PASS_SIZES.index(8)] == costs.ms[PASS_SIZES.index(12)] == 12.0
    assert list(costs.ms) == sorted(costs.ms)


def test_larger_passes_are_measured_for_as_long_as_a_token_gets_cheaper() -> None:
    flat = measure_fill(lambda _tokens: 0.02, 512)
    assert flat.tokens == (*FILL_SIZES, 64, 128, 256, 512)
    dear = measure_fill(lambda tokens: 0.001 * tokens, 512)
    assert dear.tokens == FILL_SIZES
    bent = measure_fill(lambda tokens: max(0.064, 0.001 * tokens), 512)
    assert bent.tokens == (*FILL_SIZES, 64, 128)
    assert bent.ms[-1] == 128.0


def test_tokens_are_kept_from_the_number_on_that_pays_for_the_second_pass_and_the_turning() -> None:
    costs = measure_keep(lambda tokens: 0.010 + 0.001 * tokens, lambda: 0.041)
    # The second pass costs 10 ms, and turning 1,024 cells 30 ms.
    assert (costs.least(1024), costs.least(2048), costs.least(0)) == (41, 71, 11)
    turns = count()
    busy = measure_keep(lambda _tokens: 1.0 if next(turns) % 9 == 0 else 2.0, lambda: 2.0)
    assert busy == KeepCosts(is_steady=False)


def test_no_pass_is_measured_that_is_larger_than_allowed() -> None:
    assert measure_fill(lambda _tokens: 0.02, 24).tokens == (1, 2, 4, 8, 16)


@pytest.mark.long
@pytest.mark.real_model
def test_more_rows_than_wanted_change_none_of_those_that_are(model: LlamaModel) -> None:
    tokens = [2 + number for number in range(24)]
    found: dict[int, list[Logits]] = {1: [], 4: []}
    for step, own in found.items():
        settings = ContextSettings(cells=256, sequences=1, threads=2, batch=16, row_step=step)
        context = LlamaContext(model, settings)
        for rows in (1, 3, 6, 24):
            context.cut_sequence(0, 0)
            own.append(context.evaluate(0, tokens, 0, rows).copy())
        context.close()
    for plain, stepped in zip(found[1], found[4], strict=True):
        assert plain.shape == stepped.shape
        assert agree(stepped, plain)
