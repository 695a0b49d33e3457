"""Builds graphs for ONNX Runtime, node by node."""

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from operators.models.onnx_graphs import Built

_OPSETS = {"": 20, "com.microsoft": 1}
# ONNX Runtime reads this format since 1.18; by default the package writes a newer one.
_IR_VERSION = 10

# Smaller constants are in the graph, because ONNX Runtime reads values such as shapes.
_MIN_WEIGHTS_BYTES = 1024

Value = str
"""The name of a tensor in the graph."""


class Graph:
    """A graph under construction; each method appends nodes and returns their result."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._weights: dict[Value, NDArray[Any]] = {}
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._count = 0

    def input(self, name: str, *shape: int | str, is_index: bool = False) -> Value:
        """An input of the graph: float32, or int64 for an index."""
        kind = TensorProto.INT64 if is_index else TensorProto.FLOAT
        self._inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, value: Value, *shape: int | str) -> None:
        self._nodes.append(helper.make_node("Identity", [value], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def constant(self, values: NDArray[Any]) -> Value:
        name, values = self._new(), np.ascontiguousarray(values)
        if values.nbytes < _MIN_WEIGHTS_BYTES:
            self._constants.append(numpy_helper.from_array(values, name))
            return name
        kind = helper.np_dtype_to_tensor_dtype(values.dtype)
        tensor = TensorProto(name=name, data_type=kind, dims=values.shape, data_location=TensorProto.EXTERNAL)
        # No file: ONNX Runtime gets the values by this name.
        tensor.external_data.add(key="location", value=name)
        self._constants.append(tensor)
        self._weights[name] = values
        return name

    def indices(self, *values: int) -> Value:
        return self.constant(np.array(values, np.int64))

    def op(self, kind: str, *inputs: Value, domain: str = "", **attributes: Any) -> Value:
        return self.ops(kind, 1, *inputs, domain=domain, **attributes)[0]

    def ops(
        self, kind: str, results: int, *inputs: Value, domain: str = "", **attributes: Any
    ) -> list[Value]:
        names = [self._new() for _ in range(results)]
        self._nodes.append(helper.make_node(kind, list(inputs), names, domain=domain, **attributes))
        return names

    def built(self) -> Built:
        graph = helper.make_graph(self._nodes, self._name, self._inputs, self._outputs, self._constants)
        opsets = [helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
        return Built(model.SerializeToString(), self._weights)

    def _new(self) -> Value:
        self._count += 1
        return f"node_{self._count}"
