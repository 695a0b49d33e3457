"""Adapter files: GGUF as llama.cpp reads it with ``--lora``, or safetensors with peft's names.

The written files can be applied to the base model by llama.cpp directly.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from connectors.gguf.file import GgufFile, Tensor, read_gguf
from connectors.gguf.values import Entry, encode
from connectors.models.matrices import matrix_of
from connectors.models.peft import read_peft
from operators.errors import InputError, UsageError
from operators.models.adapter import Adapter, LowRank, Matrix
from operators.models.quantize import quantize
from operators.models.tensor_types import TYPES_KEY, USUAL, Types, number_of, parse_types

_A, _B = ".lora_a", ".lora_b"


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
        adapter, entries = read_peft(path, architecture, blocks), {}
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


def types_for(path: Path) -> Types:
    """The types that an adapter was trained for, or the usual ones. Raises `InputError` if it is damaged."""
    if path.suffix == ".safetensors":
        return USUAL
    try:
        return parse_types(read_gguf(path).text(TYPES_KEY), USUAL)
    except UsageError as error:
        raise InputError(
            f"{path}: in the types that this adapter was trained for, {error}; train it again"
        ) from None


def adapter_file(
    adapter: Adapter, architecture: str, entries: Mapping[str, Entry], kind: str = "Q8_0"
) -> GgufFile:
    """The content of a GGUF file for an adapter.

    Args:
        adapter: the adapter.
        architecture: GGUF's name of the base model's architecture.
        entries: further header entries, such as ``surtitle.templates`` and the training data.
        kind: type of the matrices; F16 is used if its blocks do not fill their rows.
    """
    tensors = {}
    for name, low in adapter.added.items():
        for suffix, matrix in ((_A, low.a), (_B, low.b)):
            number = number_of(kind, matrix.shape[1])
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
    names = [name.removesuffix(_A) for name in file.tensors if name.endswith(_A)]
    whole = {name + suffix for name in names for suffix in (_A, _B)}
    if not names or (others := set(file.tensors) ^ whole):
        odd = min(others) if names else "lora_a"
        raise InputError(
            f"{path}: this adapter has no pair of matrices (A and B) for {odd}; convert it again"
        )
    pairs = {
        name: LowRank(*(_matrix(file.tensors[name + end], path, name) for end in (_A, _B))) for name in names
    }
    return Adapter(alpha, pairs)


def _matrix(tensor: Tensor, path: Path, name: str) -> Matrix:
    matrix = matrix_of(tensor)
    if matrix is None:
        raise InputError(
            f"{path}: the matrices for {name} are stored in an unsupported type; use Q8_0 or F16"
        )
    return matrix
