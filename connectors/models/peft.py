"""Reads an adapter written by peft: a safetensors file with its settings as JSON next to it."""

from pathlib import Path

import msgspec
import numpy as np
import regex

from connectors.files.json_file import read_json
from operators.errors import InputError
from operators.models.adapter import Adapter, LowRank, Matrix
from operators.unreadable import is_visible, unreadable

#: Architectures with the same matrices in a GGUF file as in training. For Llama, GGUF reorders the rows of
#: the query and key matrices.
_UNCHANGED = ("gemma", "gemma2", "gemma3", "qwen2", "qwen3")
_NAME = regex.compile(r"(?:base_model\.model\.)?(.+)\.lora_([AB])(?:\.default)?\.weight")
_NUMBERS = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}


class _Settings(msgspec.Struct):
    """The relevant part of an ``adapter_config.json``."""

    r: int
    lora_alpha: float
    peft_type: str = "LORA"
    use_rslora: bool = False
    use_dora: bool = False
    alpha_pattern: dict[str, float] = {}


def read_peft(path: Path, architecture: str, blocks: int) -> Adapter:
    """Read the adapter in ``path``; its settings are in ``NAME.json`` next to it or ``adapter_config.json``.

    Raises `InputError` if it is damaged or of another kind, or if GGUF changes the architecture's matrices.
    """
    if architecture not in _UNCHANGED:
        raise InputError(
            f"{path}: surtitle cannot convert PEFT adapters for {architecture!r}; "
            "convert it with llama.cpp's convert_lora_to_gguf.py"
        )
    settings = _settings(path)
    halves = _halves(path, architecture, blocks)
    if incomplete := [name for name, pair in halves.items() if len(pair) < 2]:
        raise InputError(
            f"{path}: this adapter has no pair of matrices (A and B) for {incomplete[0]}; fetch it again"
        )
    return Adapter(
        settings.lora_alpha, {name: LowRank(pair["A"], pair["B"]) for name, pair in halves.items()}
    )


def _settings(path: Path) -> _Settings:
    beside = path.with_suffix(".json")
    place = beside if is_visible(beside) else path.with_name("adapter_config.json")
    remedy = f"give the file that was saved with {path.name}"
    settings = read_json(place, _Settings, "the configuration of an adapter", remedy)
    plain = settings.peft_type == "LORA" and not (
        settings.use_rslora or settings.use_dora or settings.alpha_pattern
    )
    if not plain or not np.isfinite(settings.lora_alpha):
        raise InputError(f"{place}: train a plain LoRA, without rslora, DoRA or an alpha for each matrix")
    return settings


def _halves(path: Path, architecture: str, blocks: int) -> dict[str, dict[str, Matrix]]:
    from gguf import MODEL_ARCH_NAMES, get_tensor_name_map
    from safetensors import SafetensorError, deserialize

    try:
        tensors = deserialize(path.read_bytes())  # type: ignore[no-untyped-call]
    except OSError as error:
        raise InputError(unreadable(path, error)) from None
    except SafetensorError as error:
        raise InputError(f"{path} is damaged ({error}): fetch the adapter again") from None
    kinds = {name: kind for kind, name in MODEL_ARCH_NAMES.items()}
    names = get_tensor_name_map(kinds[architecture], blocks)
    halves: dict[str, dict[str, Matrix]] = {}
    for name, tensor in tensors:
        match = _NAME.fullmatch(name)
        place = names.get_name(match[1]) if match else None
        if match is None or place is None or tensor["dtype"] not in _NUMBERS or len(tensor["shape"]) != 2:
            raise InputError(
                f"{path}: its tensor {name} is not part of an adapter for {architecture}; choose another"
            )
        halves.setdefault(f"{place}.weight", {})[match[2]] = _numbers(tensor)
    if not halves:
        raise InputError(f"{path}: it contains no adapter; name the folder of one")
    return halves


def _numbers(tensor: dict[str, object]) -> Matrix:
    kind, data, shape = tensor["dtype"], tensor["data"], tensor["shape"]
    assert isinstance(kind, str)
    assert isinstance(data, bytes | bytearray)
    assert isinstance(shape, list)
    numbers = np.frombuffer(data, _NUMBERS[kind])
    if kind == "BF16":  # the upper half of a float
        return (numbers.astype(np.uint32) << 16).view(np.float32).reshape(shape)
    return numbers.astype(np.float32).reshape(shape)
