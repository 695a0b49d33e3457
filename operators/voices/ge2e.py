"""The GE2E voice encoder (Wan et al. 2018), with the weights that Resemblyzer publishes."""

import pickle
from collections import OrderedDict
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from typing_extensions import override

from operators.errors import InputError, unreadable
from operators.models.onnx_builder import Graph
from operators.models.onnx_graphs import Built, OnnxGraph, own_thread
from operators.voices.features import BANDS, FRAME, STEP, Floats, mel_frames

#: Frames of a window, and between two of them: 1.6 s, and half of that.
WINDOW, HOP = 160, 80
_LAYERS, _WIDTH = 3, 256


class Ge2eEncoder:
    """Makes an embedding of 256 values of each window of 1.6 s; raises `InputError` for a bad file."""

    def __init__(self, weights: Path) -> None:
        self._graph = OnnxGraph(weights, 1, own_thread(), _graph(read_tensors(weights)))

    def embed(self, samples: Floats) -> Floats:
        """The embedding of 16 kHz mono speech, shape (256,), of length 1; of zeros for too little of it."""
        frames = mel_frames(np.pad(samples, (0, max(0, WINDOW * STEP + FRAME - len(samples)))))
        starts = range(0, max(1, len(frames) - WINDOW + HOP // 2), HOP)
        windows = np.stack([frames[min(at, len(frames) - WINDOW) :][:WINDOW] for at in starts], axis=1)
        made = self._graph.run({"frames": windows})["embeddings"]
        mean = made.mean(axis=0)
        return mean / max(1e-9, float(np.linalg.norm(mean)))


def _graph(tensors: dict[str, Floats]) -> Built:
    """Windows of shape (`WINDOW`, windows, `BANDS`) in, embeddings of shape (windows, 256) out."""
    graph = Graph("ge2e")
    value = graph.input("frames", WINDOW, "windows", BANDS)
    for layer in range(_LAYERS):
        inner, outer, *biases = (
            _as_onnx(tensors[f"lstm.{name}_l{layer}"])
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        bias = graph.constant(np.concatenate(biases)[None])
        made = graph.ops(
            "LSTM", 2, value, graph.constant(inner[None]), graph.constant(outer[None]), bias,
            hidden_size=_WIDTH,
        )  # fmt: skip
        value = graph.op("Squeeze", made[0], graph.indices(1))
    last = graph.op("Squeeze", made[1], graph.indices(0))
    linear = graph.op(
        "Gemm", last, graph.constant(tensors["linear.weight"]), graph.constant(tensors["linear.bias"]),
        transB=1,
    )  # fmt: skip
    positive = graph.op("Relu", linear)
    normal = graph.op("LpNormalization", positive, axis=1, p=2)
    graph.output("embeddings", normal, "windows", _WIDTH)
    return graph.built()


def _as_onnx(gates: Floats) -> Floats:
    """PyTorch's order of gates (input, forget, cell, output) in ONNX's (input, output, forget, cell)."""
    first, forget, cell, out = np.split(gates, 4)
    return np.concatenate((first, out, forget, cell))


class _Tensor(NamedTuple):
    storage: str
    offset: int
    shape: tuple[int, ...]


class _Unpickler(pickle.Unpickler):
    """Reads tensors of PyTorch's older format, and runs nothing that a file names."""

    @override
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda storage, offset, shape, *_: _Tensor(str(storage[2]), int(offset), tuple(shape))
        if (module, name) == ("torch", "FloatStorage"):
            return name
        raise pickle.UnpicklingError(f"{module}.{name} is not allowed")

    @override
    def persistent_load(self, pid: Any) -> Any:
        return pid


def read_tensors(path: Path) -> dict[str, Floats]:
    """The tensors of the model in the file by name; raises `InputError` if it holds no such.

    The file has three pickles, the state, the names of the storages, and then each of these with its length.
    """
    try:
        with path.open("rb") as file:
            for _ in range(3):
                _Unpickler(file).load()
            state = _Unpickler(file).load()["model_state"]
            storages = {str(key): _storage(file) for key in _Unpickler(file).load()}
        return {
            name: storages[one.storage][one.offset : one.offset + prod(one.shape)].reshape(one.shape)
            for name, one in state.items()
        }
    except OSError as error:
        raise InputError(unreadable(path, error)) from error
    except Exception as error:  # a hostile file can make a pickle raise anything
        raise InputError(
            f"{path}: these are not the weights of the voice encoder: {error}; `surtitle models get voices` "
            "fetches them"
        ) from error


def _storage(file: BinaryIO) -> Floats:
    count = int.from_bytes(file.read(8), "little", signed=True)
    return np.frombuffer(file.read(4 * max(0, count)), "<f4")
