"""The GE2E voice encoder (Wan et al. 2018), with the weights that Resemblyzer publishes."""

import os
import pickle
from collections import OrderedDict
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import numpy as np
from typing_extensions import override

from operators.errors import InputError, unreadable
from operators.models.onnx_builder import Graph
from operators.models.onnx_graphs import Built, OnnxGraph, own_thread
from operators.voices.features import BANDS, FRAME, Floats, mel_frames, without_noise
from operators.voices.protocol import Embedding, Samples

# Thresholds for stretches of these seconds: that of the equal error rate, plus 0.06, because a new voice is a
# lesser error than two people under one name.
_SECONDS, _THRESHOLDS = (1.0, 1.6, 2.5, 4.0), (0.61, 0.68, 0.73, 0.80)
_LAYERS, _WIDTH = 3, 256
_PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")

Shape: TypeAlias = tuple[int, ...]


class Ge2eEncoder:
    """An `Encoder` on one thread, trained on stretches of 1.6 s. Thread-safe.

    Raises:
        InputError: the file cannot be read, or does not hold these weights.
    """

    def __init__(self, weights: Path) -> None:
        self._graph = OnnxGraph(weights, 1, own_thread(), _graph(read_tensors(weights, _shapes())))

    def embed(self, samples: Samples) -> Embedding:
        """The embedding, shape (256,), of length 1; zeros for less than 25 ms of sound."""
        if len(samples) < FRAME:
            return np.zeros(_WIDTH, np.float32)
        frames = without_noise(mel_frames(samples))
        made: Embedding = self._graph.run({"frames": frames[:, None]})["embedding"][0]
        return made

    def threshold(self, seconds: float) -> float:
        """See `Encoder`."""
        return float(np.interp(seconds, _SECONDS, _THRESHOLDS))


def _shapes() -> dict[str, Shape]:
    """The tensors of the encoder, in PyTorch's names."""
    shapes: dict[str, Shape] = {"linear.weight": (_WIDTH, _WIDTH), "linear.bias": (_WIDTH,)}
    gates = 4 * _WIDTH
    for layer in range(_LAYERS):
        parts = ((gates, _WIDTH if layer else BANDS), (gates, _WIDTH), (gates,), (gates,))
        shapes |= {f"lstm.{part}_l{layer}": shape for part, shape in zip(_PARTS, parts, strict=True)}
    return shapes


def _graph(tensors: dict[str, Floats]) -> Built:
    """Mel bands of shape (frames, 1, `BANDS`) in, an embedding of shape (1, 256) out."""
    graph = Graph("ge2e")
    value = graph.input("frames", "count", 1, BANDS)
    for layer in range(_LAYERS):
        inner, outer, *biases = (_as_onnx(tensors[f"lstm.{part}_l{layer}"]) for part in _PARTS)
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
    """PyTorch's gates (input, forget, cell, output) in ONNX's order (input, output, forget, cell)."""
    first, forget, cell, out = np.split(gates, 4)
    return np.concatenate((first, out, forget, cell))


class _Tensor(NamedTuple):
    storage: str
    offset: int
    shape: Shape


class _Unpickler(pickle._Unpickler):
    """Reads tensors of PyTorch's older format, without calling any code that a file names.

    The unpickler in C would allocate memory for any index in a file.
    """

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


def read_tensors(path: Path, shapes: Mapping[str, Shape]) -> dict[str, Floats]:
    """The tensors of these names and shapes in a file; raises `InputError` if it does not contain them.

    The file has three pickles, the state, the names of the storages, and then each storage with its length.
    """
    try:
        with path.open("rb") as file:
            for _ in range(3):
                _Unpickler(file).load()
            state = _Unpickler(file).load()["model_state"]
            storages = {str(key): _storage(file) for key in _Unpickler(file).load()}
        return {name: _found(state, storages, name, shape) for name, shape in shapes.items()}
    except OSError as error:
        raise InputError(unreadable(path, error)) from error
    except Exception as error:  # a hostile file can make a pickle raise anything
        raise InputError(
            f"{path}: these are not the weights of the voice encoder ({error!r:.200}); remove "
            "the file, and fetch it again with `surtitle models get voices`"
        ) from error


def _storage(file: BinaryIO) -> Floats:
    count = int.from_bytes(file.read(8), "little", signed=True)
    if not 0 <= 4 * count <= os.fstat(file.fileno()).st_size:
        raise ValueError(f"a tensor of {count} numbers")
    return np.frombuffer(file.read(4 * count), "<f4")


def _found(state: Mapping[str, _Tensor], storages: Mapping[str, Floats], name: str, shape: Shape) -> Floats:
    tensor = state[name]
    if tensor.shape != shape:
        raise ValueError(f"{name} has the shape {tensor.shape} instead of {shape}")
    return storages[tensor.storage][tensor.offset :][: prod(shape)].reshape(shape)
