"""Adapters are read as llama.cpp and peft write them, and what is written llama.cpp lays over a model."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from connectors.models.adapter import read_adapter
from connectors.models.assembly import Parts, assemble
from connectors.models.gguf import encode, read_gguf, write_gguf
from operators.errors import InputError
from operators.models.quantize import Matrix
from operators.notifications import silent
from tests.adapters import NAMES, logits, noise, write_adapter
from tests.tiny_gguf import pieces, write_model


def test_llama_cpp_lays_an_adapter_over_a_model_as_assembling_adds_it(tmp_path: Path) -> None:
    base = write_model(tmp_path / "base.gguf", pieces({}))
    adapter = write_adapter(tmp_path / "adapter.gguf", noise())
    file = assemble(Parts(base, adapter, None), silent)
    made = tmp_path / "made.gguf"
    write_gguf(made, file.entries, file.tensors)
    prompt = [1, 260, 261]
    laid = logits(base, prompt, adapter)
    # What is assembled is stored in 8 bits.
    error, change = (np.abs(logits(path, prompt) - laid).mean() for path in (made, base))
    assert error < 0.1 * change


def test_an_adapter_comes_back(tmp_path: Path) -> None:
    adapter = noise(rank=32)
    again, about = read_adapter(write_adapter(tmp_path / "adapter.gguf", adapter), "llama", 1)
    assert again.alpha == adapter.alpha
    assert list(about) == ["surtitle.templates"]
    for name in NAMES:
        assert np.allclose(again.added[name].a, adapter.added[name].a, atol=1e-2)
        assert np.allclose(again.added[name].b, adapter.added[name].b, atol=1e-2)


def peft(folder: Path, config: Mapping[str, object] | None = None, **tensors: Matrix) -> Path:
    name = "base_model.model.model.layers.0.self_attn.q_proj.lora_{}.weight"
    halves = np.ones((4, 32), np.float16), np.full((32, 4), 2, np.float16)
    path = folder / "en-de.safetensors"
    save_file({name.format("A"): halves[0], name.format("B"): halves[1], **tensors}, path)
    path.with_suffix(".json").write_text(json.dumps({"r": 4, "lora_alpha": 8, **(config or {})}))
    return path


def test_an_adapter_of_peft_is_read(tmp_path: Path) -> None:
    adapter, about = read_adapter(peft(tmp_path), "gemma3", 1)
    assert not about
    merged = adapter.merged("blk.0.attn_q.weight", np.ones((32, 32), np.float32))
    assert np.array_equal(merged, np.full((32, 32), 1 + 4 * 2 * 8 / 4))


def test_what_is_no_adapter_is_refused(tmp_path: Path) -> None:
    for kind in ("use_dora", "use_rslora"):
        with pytest.raises(InputError, match="train a plain LoRA"):
            read_adapter(peft(tmp_path, {kind: True}), "gemma3", 1)
    with pytest.raises(InputError, match="not the configuration of an adapter"):
        read_adapter(peft(tmp_path, {"lora_alpha": "much"}), "gemma3", 1)
    model = write_model(tmp_path / "model.gguf", pieces({}))
    with pytest.raises(InputError, match="this is not a LoRA adapter"):
        read_adapter(model, "llama", 1)
    with pytest.raises(InputError, match=r"for 'llama', the base model is 'gemma3'"):
        read_adapter(write_adapter(tmp_path / "adapter.gguf", noise()), "gemma3", 1)
    with pytest.raises(InputError, match="cannot convert PEFT adapters for 'llama'"):
        read_adapter(peft(tmp_path), "llama", 1)
    with pytest.raises(InputError, match=r"modules\.weight is not part of an adapter"):
        read_adapter(peft(tmp_path, {}, **{"modules.weight": np.zeros((2, 2), np.float32)}), "gemma3", 1)
    (tmp_path / "torn.safetensors").write_bytes(b"\xff" * 100)
    (tmp_path / "torn.json").write_text('{"r": 4, "lora_alpha": 8}')
    with pytest.raises(InputError, match="is damaged"):
        read_adapter(tmp_path / "torn.safetensors", "gemma3", 1)


def test_half_a_pair_and_numbers_that_are_none_are_refused(tmp_path: Path) -> None:
    path = write_adapter(tmp_path / "adapter.gguf", noise())
    entries, tensors = read_gguf(path)
    wrong = tmp_path / "wrong.gguf"
    half = {name: one for name, one in tensors.items() if name != f"{NAMES[0]}.lora_b"}
    write_gguf(wrong, entries, half)
    with pytest.raises(InputError, match="no pair of matrices"):
        read_adapter(wrong, "llama", 1)
    write_gguf(wrong, entries | {"adapter.lora.alpha": encode(float("nan"))}, tensors)
    with pytest.raises(InputError, match="is missing; convert it again"):
        read_adapter(wrong, "llama", 1)
    wild = noise()
    wild.added[NAMES[0]].a[0, 0] = np.inf
    with pytest.raises(InputError, match="are not finite"):
        read_adapter(write_adapter(tmp_path / "wild.gguf", wild), "llama", 1)
