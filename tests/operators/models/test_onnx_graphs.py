"""ONNX Runtime does not compute in llama.cpp's thread: on AMX both configure the processor's tiles."""

import threading
from typing import Any

import numpy as np
import pytest

from operators.models.onnx_builder import Graph
from operators.models.onnx_graphs import OnnxGraph, own_thread


def test_a_graph_does_not_compute_in_the_callers_thread(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Graph("smallest")
    made.output("y", made.op("Relu", made.input("x", 1)), 1)
    graph = OnnxGraph(tmp_path, 1, own_thread(), made.built())
    computed = []

    class Session:
        def run(self, names: list[str], _fed: dict[str, Any]) -> list[str]:
            computed.append(threading.get_ident())
            return names

    monkeypatch.setattr(graph, "_session", Session())
    graph.run({"x": np.ones(1, np.float32)})
    assert computed
    assert threading.get_ident() not in computed
