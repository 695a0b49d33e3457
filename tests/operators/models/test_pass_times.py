"""What passes cost is measured on a steady machine, and a noisy one is known."""

from itertools import count
from pathlib import Path

import pytest

from operators.models.llama_model import LlamaModel
from operators.models.pass_times import PASS_SIZES, measure_costs, measure_model
from tests.tiny_kinds import write_kind


def test_a_machine_that_is_busy_is_known_by_its_times() -> None:
    sizes = count()
    # One turn in five is as it should be.
    assert not measure_costs(lambda _size: 1.0 if next(sizes) // len(PASS_SIZES) % 5 == 1 else 2.0).is_steady


def test_a_larger_pass_is_never_taken_to_be_cheaper() -> None:
    costs = measure_costs(lambda tokens: 0.02 if tokens == 8 else 0.001 * tokens)
    assert costs.ms[PASS_SIZES.index(8)] == costs.ms[PASS_SIZES.index(12)] == 12.0
    assert list(costs.ms) == sorted(costs.ms)


def test_larger_passes_are_measured_for_as_long_as_a_token_gets_cheaper() -> None:
    flat = measure_costs(lambda _tokens: 0.02, 512)
    assert flat.tokens == (*PASS_SIZES, 64, 128, 256, 512)
    assert measure_costs(lambda tokens: 0.001 * tokens, 512).tokens == PASS_SIZES
    bent = measure_costs(lambda tokens: max(0.064, 0.001 * tokens), 512)
    assert (bent.tokens, bent.ms[-1]) == ((*PASS_SIZES, 64, 128), 128.0)
    assert measure_costs(lambda _tokens: 0.02, 24).tokens == (1, 2, 3, 4, 8, 12, 16, 24)


@pytest.mark.parametrize("kind", ["llama", "mamba", "lfm2"])
def test_passes_of_any_kind_of_memory_can_be_timed(tmp_path: Path, kind: str) -> None:
    costs = measure_model(LlamaModel(write_kind(tmp_path / f"{kind}.gguf", kind)), 1)
    assert costs.tokens[: len(PASS_SIZES)] == PASS_SIZES
    assert min(costs.ms) > 0
