"""Low-rank adapters (LoRA, Hu et al. 2022, section 4.1) and their files.

A matrix W of ``out`` × ``in`` becomes W + B·A·alpha/r, where A is r × ``in`` and B is ``out`` × r. Files are
GGUF as llama.cpp reads and writes it with ``--lora``, or safetensors with peft's names.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import regex

from connectors.files.contents import read_json
from connectors.models.gguf import Entry, GgufFile, Tensor, encode, matrix_of, read_gguf
from operators.errors import InputError, is_visible, unreadable
from operators.models.quantize import Matrix, quantize, stored_type

#: Architectures with the same matrices in a GGUF file as in training. For Llama, GGUF reorders the rows of
#: the query and key matrices.
_UNCHANGED = ("gemma", "gemma2", "gemma3", "qwen2", "qwen3")
_NUMBERS = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_NAME = regex.compile(r"(?:base_model\.model\.)?(.+)\.lora_([AB])(?:\.default)?\.weight")


class LowRank(NamedTuple):
    """The addition to one matrix, without its scale."""

    #: r × in
    a: Matrix
    #: out × r
    b: Matrix

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix that it belongs to."""
        return len(self.b), self.a.shape[1]

    def is_sound(self) -> bool:
        """Whether the two matrices fit together and are finite."""
        return (
            self.a.ndim == self.b.ndim == 2
            and self.b.shape[1] == len(self.a) > 0
            and bool(np.isfinite(self.a).all() and np.isfinite(self.b).all())
        )


class Adapter(NamedTuple):
    """An adapter: the additions to the tensors of a GGUF file."""

    alpha: float
    #: By the tensor's full name, such as ``blk.0.attn_q.weight``.
    added: Mapping[str, LowRank]

    def merged(self, name: str, weight: Matrix) -> Matrix:
        """The matrix ``name`` (out × in) plus the adapter's addition, of the same shape."""
        low = self.added[name]
        return weight + (low.b @ low.a) * np.float32(self.alpha / len(low.a))


class _Settings(msgspec.Struct):
    lora_alpha: float
    peft_type: str = "LORA"
    use_rslora: bool = False
    use_dora: bool = False
    alpha_pattern: dict[str, float] = {}


def _from_peft(path: Path, architecture: str, blocks: int) -> Adapter:
    from gguf import MODEL_ARCH_NAMES, get_tensor_name_map
    from safetensors import SafetensorError, deserialize

    if architecture not in _UNCHANGED:
        raise InputError(
            f"{path}: surtitle cannot convert PEFT adapters for {architecture!r}; "
            "convert it with llama.cpp's convert_lora_to_gguf.py"
        )
    beside = path.with_suffix(".json")
    place = beside if is_visible(beside) else path.with_name("adapter_config.json")
    remedy = f"give the file that was saved with {path.name}"
    config = read_json(place, _Settings, "the configuration of an adapter", remedy)
    if config.peft_type != "LORA" or config.use_rslora or config.use_dora or config.alpha_pattern:
        raise InputError(f"{place}: train a plain LoRA, without rslora, DoRA or an alpha for each matrix")
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
        known = names.get_name(match[1]) if match else None
        if match is None or known is None or tensor["dtype"] not in _NUMBERS:
            raise InputError(
                f"{path}: its tensor {name} is not part of an adapter for {architecture}; choose another"
            )
        numbers = np.frombuffer(tensor["data"], _NUMBERS[tensor["dtype"]])
        if tensor["dtype"] == "BF16":  # the upper half of a float
            numbers = (numbers.astype(np.uint32) << 16).view(np.float32)
        matrix = numbers.astype(np.float32).reshape(tensor["shape"])
        halves.setdefault(f"{known}.weight", {})[match[2]] = matrix
    return Adapter(config.lora_alpha, _pairs(path, halves))


def _pairs(path: Path, halves: Mapping[str, Mapping[str, Matrix]]) -> dict[str, LowRank]:
    if not halves or any(pair.keys() != {"A", "B"} for pair in halves.values()):
        raise InputError(
            f"{path}: this adapter has no pair of matrices (A and B) for each name; convert it again"
        )
    return {name: LowRank(pair["A"], pair["B"]) for name, pair in halves.items()}


def read_adapter(path: Path, architecture: str, blocks: int) -> tuple[Adapter, dict[str, Entry]]:
    """An adapter for a model of ``architecture``, and surtitle's entries in its header.

    Args:
        path: a GGUF file, or peft's ``.safetensors`` file with its ``.json``, which has no such entries.
        architecture: GGUF's name of the base model's architecture.
        blocks: number of the base model's layers.

    Raises:
        InputError: the file is not an adapter, is damaged, or is for another architecture.
    """
    if path.suffix == ".safetensors":
        adapter, entries = _from_peft(path, architecture, blocks), {}
    else:
        file = read_gguf(path)
        adapter = _from_gguf(file, path, architecture)
        entries = {key: entry for key, entry in file.entries.items() if key.startswith("surtitle.")}
    for name, low in adapter.added.items():
        if not low.is_sound():
            raise InputError(
                f"{path}: the matrices for {name} do not fit together, or are not finite; train it again"
            )
    return adapter, entries


def adapter_file(adapter: Adapter, architecture: str, entries: Mapping[str, Entry]) -> GgufFile:
    """The content of a GGUF file for an adapter; ``entries`` are added to its header."""
    tensors = {}
    for name, low in adapter.added.items():
        for suffix, matrix in ((".lora_a", low.a), (".lora_b", low.b)):
            number = stored_type(matrix.shape[1])
            tensors[name + suffix] = Tensor(number, matrix.shape[::-1], quantize(matrix, number))
    header = {
        "general.architecture": encode(architecture),
        "general.type": encode("adapter"),
        "adapter.type": encode("lora"),
        "adapter.lora.alpha": encode(float(adapter.alpha)),
        **entries,
    }
    return GgufFile(header, tensors)


def _from_gguf(file: GgufFile, path: Path, architecture: str) -> Adapter:
    if file.text("general.type") != "adapter" or file.text("adapter.type") != "lora":
        raise InputError(f"{path}: this is not a LoRA adapter; give a file written by 'surtitle model train'")
    if (found := file.text("general.architecture")) != architecture:
        raise InputError(
            f"{path}: this adapter is for {found!r}, the base model is {architecture!r}; give its own base"
        )
    alpha = file.value("adapter.lora.alpha")
    if not isinstance(alpha, float) or not np.isfinite(alpha):
        raise InputError(f"{path}: its scale (adapter.lora.alpha) is missing; convert it again")
    halves: dict[str, dict[str, Matrix]] = {}
    for name in file.tensors:
        stem, _, end = name.rpartition(".lora_")
        halves.setdefault(stem, {})[end.upper()] = matrix_of(file, name, path)
    return Adapter(alpha, _pairs(path, halves))
