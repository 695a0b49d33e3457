"""Where a model is computed: what ggml says, and how many layers a GPU holds."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import llama_cpp
import pytest

from operators.models import devices as module
from operators.models.devices import Device, Placement, devices, placement
from operators.models.llama_model import LlamaModel
from tests.tiny_gguf import byte_pairs, write_model

GPU = Device("CUDA0", "NVIDIA H200", is_gpu=True, megabytes=143_000)


@pytest.fixture
def model(tmp_path: Path) -> Iterator[LlamaModel]:
    with closing(LlamaModel(write_model(tmp_path / "tiny.gguf", byte_pairs({})))) as model:
        yield model


def test_the_processor_is_a_device_with_a_name_and_memory() -> None:
    (processor,) = [one for one in devices() if one.name == "CPU"]
    assert processor.description
    assert not processor.is_gpu
    assert processor.megabytes > 100


def test_all_layers_are_on_a_gpu_if_this_build_has_one(
    model: LlamaModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "devices", lambda: [GPU])
    monkeypatch.setattr(llama_cpp, "llama_supports_gpu_offload", lambda: True)
    found = placement(model)
    assert found == Placement("CUDA0 (NVIDIA H200)", found.layers, found.layers)
    assert found.layers > 1
    monkeypatch.setattr(llama_cpp, "llama_supports_gpu_offload", lambda: False)
    assert placement(model) == Placement("cpu", 0, found.layers)
