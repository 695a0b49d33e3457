"""Builds an ONNX graph node by node, and quantises its matrices on the way."""

from enum import Enum
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

_OPSETS = {"": 20, "com.microsoft": 1}
# Format that ONNX Runtime reads since 1.18; by default the package writes a newer one.
_IR_VERSION = 10
# Columns that share a scale in `Quantized.BLOCKS`.
_BLOCK = 32
# Rows rounded at a time.
_ROWS = 256

Value = str
"""The name of a tensor in the graph."""


class Quantized(Enum):
    """How a matrix is multiplied."""

    #: In float32.
    NOT = "not"
    #: Weights as 8-bit integers with a scale for each block of a row; rows of the input are quantised in
    #: blocks, too, each separately.
    BLOCKS = "blocks"
    #: The same with one scale per row of weights, and one for all of the input: faster for many rows.
    ROWS = "rows"


class Graph:
    """A graph under construction; each method appends nodes and returns their result."""

    def __init__(self, name: str, quantized: Quantized) -> None:
        self._name = name
        self._quantized = quantized
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._count = 0

    def input(self, name: str, *shape: int | str, is_index: bool = False) -> Value:
        """An input of the graph: float32, or int64 for an index."""
        kind = TensorProto.INT64 if is_index else TensorProto.FLOAT
        self._inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, value: Value, *shape: int | str) -> None:
        """Make a float32 value an output of the graph."""
        self._nodes.append(helper.make_node("Identity", [value], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def constant(self, values: NDArray[Any]) -> Value:
        """Values that are part of the model."""
        name = self._new()
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def indices(self, *values: int) -> Value:
        """Integers that are part of the graph."""
        return self.constant(np.array(values, np.int64))

    def op(self, kind: str, *inputs: Value, domain: str = "", **attributes: Any) -> Value:
        """A node with one result."""
        return self.ops(kind, 1, *inputs, domain=domain, **attributes)[0]

    def ops(
        self, kind: str, results: int, *inputs: Value, domain: str = "", **attributes: Any
    ) -> list[Value]:
        """A node with several results."""
        names = [self._new() for _ in range(results)]
        self._nodes.append(helper.make_node(kind, list(inputs), names, domain=domain, **attributes))
        return names

    def linear(self, x: Value, weight: NDArray[np.float32], bias: NDArray[np.float32] | None = None) -> Value:
        """``x`` of shape (n, k) times the transpose of ``weight``, (m, k), plus ``bias``, (m,)."""
        quantized = self._quantized
        if quantized is Quantized.BLOCKS and weight.shape[1] % _BLOCK:
            quantized = Quantized.NOT
        match quantized:
            case Quantized.NOT:
                product = self.op("MatMul", x, self.constant(weight.T))
            case Quantized.BLOCKS:
                product = self._times_blocks(x, weight)
            case Quantized.ROWS:
                product = self._times_rows(x, weight)
        return product if bias is None else self.op("Add", product, self.constant(bias))

    def bytes(self) -> bytes:
        """The model in the file format. Raises `ValueError` if it is larger than the format allows."""
        graph = helper.make_graph(self._nodes, self._name, self._inputs, self._outputs, self._constants)
        opsets = [helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
        whole: bytes = model.SerializeToString()
        return whole

    def _times_blocks(self, x: Value, weight: NDArray[np.float32]) -> Value:
        rows, columns = weight.shape
        # Without zero points, 128 is 0.
        whole, scale = _rounded(weight.reshape(rows, columns // _BLOCK, _BLOCK), np.uint8, zero=128)
        return self.op(
            "MatMulNBits", x, self.constant(whole), self.constant(scale),
            domain="com.microsoft", K=columns, N=rows, bits=8, block_size=_BLOCK,
            accuracy_level=4,  # the input in 8 bits, too
        )  # fmt: skip

    def _times_rows(self, x: Value, weight: NDArray[np.float32]) -> Value:
        whole, scale = _rounded(weight, np.int8)
        zero = self.constant(np.zeros(len(weight), np.int8))
        return self.op(
            "DynamicQuantizeMatMul", x, self.constant(whole.T), self.constant(scale), zero,
            domain="com.microsoft",
        )  # fmt: skip

    def _new(self) -> Value:
        self._count += 1
        return f"node_{self._count}"


def _rounded(
    values: NDArray[np.float32], kind: type[np.uint8 | np.int8], zero: int = 0
) -> tuple[NDArray[np.uint8 | np.int8], NDArray[np.float32]]:
    """Integers from -127 to 127 around ``zero``, and their scales along the last axis."""
    whole = np.empty(values.shape, kind)
    scale = np.empty(values.shape[:-1], np.float32)
    # A few rows at a time stay in the processor's cache.
    for begin in range(0, len(values), _ROWS):
        part = values[begin : begin + _ROWS]
        greatest = np.maximum(part.max(axis=-1), -part.min(axis=-1))
        scale[begin : begin + _ROWS] = np.where(greatest > 0, greatest / 127, 1)
        part = part / scale[begin : begin + _ROWS, ..., None]
        np.rint(part, out=part)
        part += zero
        whole[begin : begin + _ROWS] = part
    return whole, scale
