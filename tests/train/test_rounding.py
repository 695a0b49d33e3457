"""Learning with rounded weights: the model that learns is the one that is stored."""

from pathlib import Path

import numpy as np
import pytest
import torch

from connectors.gguf.file import read_gguf
from flows.model.in_torch import torch_model
from operators.errors import UsageError
from operators.models.quantize import dequantize, quantize
from operators.models.tensor_types import group_of, number_of
from operators.training.decoder import gguf_name
from operators.training.fit import KINDS, Fit, Schedule, losses, rounded
from tests.train.test_training import batches
from tests.train.tiny_decoder import write_gemma, write_qwen

# peft asks transformers for what has another name in its next version.
pytestmark = pytest.mark.filterwarnings("default:.is_gradient_checkpointing. is deprecated:FutureWarning")

MATRIX = np.random.default_rng(0).normal(size=(6, 320)).astype(np.float32)
MATRIX[2] = 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_rounded_as_ggml_rounds_them(kind: str) -> None:
    number = number_of(kind, MATRIX.shape[1])
    stored = dequantize(quantize(MATRIX, number).reshape(len(MATRIX), -1), number)
    assert np.array_equal(rounded(torch.from_numpy(MATRIX), kind).numpy(), stored)


def test_a_type_that_weights_cannot_be_rounded_to_is_refused_with_those_that_they_can() -> None:
    with pytest.raises(UsageError, match="choose one of Q4_0, Q5_0, Q8_0, F16"):
        rounded(torch.from_numpy(MATRIX), "Q4_K")
    with pytest.raises(UsageError, match="rows of 30"):
        rounded(torch.from_numpy(MATRIX[:, :30]), "Q4_0")


@pytest.mark.parametrize("architecture", ["gemma3", "qwen2"])
def test_it_learns_with_the_weights_that_are_stored(tmp_path: Path, architecture: str) -> None:
    # Qwen 2 has biases, which are added as they are.
    tiny = tmp_path / "tiny.gguf"
    path = write_gemma(tiny) if architecture == "gemma3" else write_qwen(tiny, architecture)
    file = read_gguf(path)
    types = {"attention": "Q4_0", "ffn": "Q4_0", "ffn_down": "Q5_0"}
    fit = Fit(torch_model(file, torch.float32), 4, Schedule(1e-2, 120), seed=1, types=types)
    course: list[float] = []
    fit.run(batches(path), 4_000, lambda step: course.append(step.loss))
    assert np.mean(course[-5:]) < 0.7 * np.mean(course[:5])

    adapter = fit.adapter()
    stored = torch_model(file, torch.float32)
    with torch.no_grad():
        for name, low in adapter.added.items():
            number, layer = number_of(types[group_of(name) or ""], low.shape[1]), _layer(stored, name)
            merged = adapter.merged(name, layer.weight.numpy())
            layer.weight.copy_(
                torch.from_numpy(dequantize(quantize(merged, number).reshape(low.shape[0], -1), number))
            )
        rows = next(batches(path))
        _, learned = losses(fit.model.base_model.model.model, fit.model.base_model.model.lm_head, rows, "cpu")
        assert float(learned) == pytest.approx(
            float(losses(stored.model, stored.lm_head, rows, "cpu")[1]), rel=1e-3
        )
        plain = torch_model(file, torch.float32)
        assert float(learned) != pytest.approx(
            float(losses(plain.model, plain.lm_head, rows, "cpu")[1]), rel=1e-2
        )


def _layer(model: torch.nn.Module, tensor: str) -> torch.nn.Linear:
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear) and name != "lm_head" and gguf_name(name) == tensor:
            return module
    raise AssertionError(tensor)
