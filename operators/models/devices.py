"""The devices of llama.cpp's backends in this build, and the placement of a model's layers on them."""

import ctypes
from typing import Any, NamedTuple

import llama_cpp as llama
from llama_cpp import _ggml

from operators.models.llama_model import LlamaModel, be_quiet

#: ``enum ggml_backend_dev_type``: a GPU, and one that shares the memory of the processor.
_GPU_KINDS = (1, 2)


class Device(NamedTuple):
    """A device of ggml, such as ``CUDA0`` (NVIDIA H200) or ``CPU``."""

    name: str
    description: str
    is_gpu: bool
    #: Memory in megabytes; 0 if the backend does not report it.
    megabytes: int

    def __str__(self) -> str:
        return f"{self.name} ({self.description})"


def devices() -> list[Device]:
    """The devices of all backends, in ggml's order."""
    be_quiet()
    found = []
    for number in range(_function("count", ctypes.c_size_t)()):
        one = ctypes.c_void_p(_function("get", ctypes.c_void_p)(ctypes.c_size_t(number)))
        name, description = (
            _function(what, ctypes.c_char_p)(one).decode("utf-8", "replace").strip()
            for what in ("name", "description")
        )
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        _function("memory", None)(one, ctypes.byref(free), ctypes.byref(total))
        kind = _function("type", ctypes.c_int)(one)
        found.append(Device(name, description, kind in _GPU_KINDS, total.value // 10**6))
    return found


def _function(name: str, restype: Any) -> Any:
    function = getattr(_ggml.libggml, f"ggml_backend_dev_{name}")
    function.restype = restype
    return function


class Placement(NamedTuple):
    """Where a model's passes are computed."""

    device: str
    #: Layers on GPUs, including the output layer; and all layers.
    gpu_layers: int
    layers: int


def placement(model: LlamaModel) -> Placement:
    """The placement of a model by llama.cpp; by default all layers are on the GPUs, if there are any."""
    gpus = [one for one in devices() if one.is_gpu] if llama.llama_supports_gpu_offload() else []
    layers = int(llama.llama_model_n_layer(model.handle)) + 1
    asked = int(llama.llama_model_default_params().n_gpu_layers)
    on_gpus = 0 if not gpus else layers if asked < 0 else min(asked, layers)
    device = ", ".join(map(str, gpus)) if on_gpus else "cpu"
    return Placement(device, on_gpus, layers)
