"""Matrices in ggml's types: what the gguf package reads and writes, and K-quants, which it does not write."""

import numpy as np
import pytest
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize as reference

from operators.models.quantize import F16, Q8_0, block_of, dequantize, quantize, stored_type

#: The types whose numbers the package cannot read: of intermediate results, of indices, and of new models.
NOT_READ = ("Q8_K", "I8", "I16", "I32", "I64", "F64", "Q1_0")
MATRIX = np.random.default_rng(0).normal(size=(3, 512)).astype(np.float32)


@pytest.mark.parametrize(
    ("kind", "error"),
    [("F16", 1e-3), ("Q4_0", 0.1), ("Q4_K", 0.08), ("Q5_K", 0.04), ("Q6_K", 0.02), ("Q8_0", 0.01)],
)
def test_numbers_come_back_as_exactly_as_their_type_can(kind: str, error: float) -> None:
    number = GGMLQuantizationType[kind]
    back = dequantize(quantize(MATRIX, number).reshape(3, -1), number)
    assert np.abs(back - MATRIX).mean() < error


# No file has tensors of Q8_1, and the package counts 40 bytes for its 36.
@pytest.mark.parametrize("kind", [one for one in GGML_QUANT_SIZES if one.name != "Q8_1"])
def test_blocks_and_numbers_are_those_of_the_gguf_package(kind: GGMLQuantizationType) -> None:
    assert block_of(kind) == GGML_QUANT_SIZES[kind]
    if kind.name not in NOT_READ:
        rows = np.random.default_rng(0).integers(64, size=(3, 2 * block_of(kind)[1]), dtype=np.uint8)
        assert np.allclose(dequantize(rows, kind), reference(rows, kind))


@pytest.mark.parametrize("kind", [4, 99, 2**32 - 1])
def test_a_type_that_ggml_does_not_know_has_no_blocks_and_no_numbers(kind: int) -> None:
    assert block_of(kind) == (0, 0)
    with pytest.raises(ValueError, match="type"):
        dequantize(np.zeros((1, 32), np.uint8), kind)


def test_rows_that_no_block_fills_are_stored_in_16_bits() -> None:
    assert [stored_type(columns) for columns in (512, 640, 30)] == [Q8_0, Q8_0, F16]
