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
from operators.voices.features import BANDS, FRAME, Floats, mel_frames
from operators.voices.protocol import Embedding, Samples

# Products of stretches of these seconds: as many of one voice are below as of different ones above, and 0.06
# more, because a new voice is a lesser error than two people under one name.
_SECONDS, _THRESHOLDS = (1.0, 1.6, 2.5, 4.0), (0.61, 0.68, 0.73, 0.80)
_LAYERS, _WIDTH = 3, 256


class Ge2eEncoder:
    """As of `Encoder`, on one thread; it was trained on stretches of 1.6 s. Thread-safe.

    Raises:
        InputError: the file cannot be read, or does not hold these weights.
    """

    def __init__(self, weights: Path) -> None:
        self._graph = OnnxGraph(weights, 1, own_thread(), _graph(read_tensors(weights)))

    def embed(self, samples: Samples) -> Embedding:
        """The embedding, shape (256,), of length 1; zeros for less than 25 ms of sound."""
        if len(samples) < FRAME:
            return np.zeros(_WIDTH, np.float32)
        made: Embedding = self._graph.run({"frames": mel_frames(samples)[:, None]})["embedding"][0]
        return made

    def threshold(self, seconds: float) -> float:
        """As of `Encoder`."""
        return float(np.interp(seconds, _SECONDS, _THRESHOLDS))


def _graph(tensors: dict[str, Floats]) -> Built:
    """Mel bands of shape (frames, 1, `BANDS`) in, an embedding of shape (1, 256) out."""
    graph = Graph("ge2e")
    value = graph.input("frames", "count", 1, BANDS)
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
    graph.output("embedding", normal, 1, _WIDTH)
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
