"""ONNX Runtime and llama.cpp compute in one process, and on AMX both configure the processor's tiles."""

import threading
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from operators.models.llama import ContextSettings, LlamaContext
from operators.models.llama_model import LlamaModel
from operators.models.onnx_graphs import Built, OnnxGraph, own_thread

SIZE = 64


@pytest.fixture
def product() -> Built:
    """A graph that multiplies two matrices of bytes."""
    weights = np.arange(SIZE * SIZE, dtype=np.int8).reshape(SIZE, SIZE)
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["left", "right"], ["product"])],
        "product",
        [helper.make_tensor_value_info("left", TensorProto.UINT8, [SIZE, SIZE])],
        [helper.make_tensor_value_info("product", TensorProto.INT32, [SIZE, SIZE])],
        [numpy_helper.from_array(weights, "right")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return Built(made.SerializeToString(), {})


def test_llama_cpp_says_the_same_after_onnx_runtime_multiplied_in_8_bits_in_its_thread(
    model: LlamaModel, product: Built
) -> None:
    context = LlamaContext(model, ContextSettings(cells=64, sequences=1, threads=1))
    tokens = model.begin + model.tokenize("The book is printed in letters")
    before = context.evaluate(0, tokens, 0, 1).copy()
    session = onnxruntime.InferenceSession(product.model, providers=["CPUExecutionProvider"])
    session.run(None, {"left": np.ones((SIZE, SIZE), np.uint8)})
    context.cut_sequence(0, 0)
    assert context.evaluate(0, tokens, 0, 1) == pytest.approx(before, abs=1)


def test_a_graph_does_not_compute_in_the_callers_thread(
    product: Built, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = OnnxGraph(tmp_path, 1, own_thread(), product)
    computed = []

    class Session:
        def run(self, names: list[str], _fed: dict[str, Any]) -> list[str]:
            computed.append(threading.get_ident())
            return names

    monkeypatch.setattr(graph, "_session", Session())
    graph.run({"left": np.ones((SIZE, SIZE), np.uint8)})
    assert computed
    assert threading.get_ident() not in computed
