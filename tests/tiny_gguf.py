"""A GGUF model of a few kilobytes that llama.cpp loads: random weights, and any vocabulary and header.

Shows what llama.cpp makes of control tokens, spaces and templates of models that are too large to bring.
"""

from collections.abc import Callable, Mapping
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np
from gguf import GGUFValueType, GGUFWriter
from numpy.typing import NDArray

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6
_WIDTH = 32
Value = str | int | float | bool | list[str] | list[int] | list[float]


class Tokens(NamedTuple):
    """A vocabulary: the header's entries about it, and the texts of its tokens."""

    entries: dict[str, Value]
    texts: list[str]


def byte_pairs(added: dict[str, int]) -> Tokens:
    """A byte-level vocabulary like Qwen's, whose only word is " the"."""
    kept = {*range(33, 127), *range(161, 173), *range(174, 256)}
    spare = iter(range(256, 512))
    texts = [chr(byte) if byte in kept else chr(next(spare)) for byte in range(256)]
    space = texts[32]
    texts += ["th", "the", f"{space}the", *added]
    return Tokens(
        {
            "tokenizer.ggml.model": "gpt2",
            "tokenizer.ggml.pre": "qwen2",
            "tokenizer.ggml.tokens": texts,
            "tokenizer.ggml.token_type": [NORMAL] * (len(texts) - len(added)) + list(added.values()),
            "tokenizer.ggml.merges": ["t h", "th e", f"{space} the"],
            "tokenizer.ggml.eos_token_id": len(texts) - 1,
            "tokenizer.ggml.add_bos_token": False,
        },
        texts,
    )


def pieces(added: dict[str, int]) -> Tokens:
    """A SentencePiece vocabulary like Llama 2's, before whose texts llama.cpp puts a space."""
    words = ["▁", "▁t", "▁the", "th", "he", *map(chr, range(33, 127))]
    texts = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *words, *added]
    kinds = [UNKNOWN, CONTROL, CONTROL, *[BYTE] * 256, *[NORMAL] * len(words), *added.values()]
    return Tokens(
        {
            "tokenizer.ggml.model": "llama",
            "tokenizer.ggml.tokens": texts,
            "tokenizer.ggml.scores": [-float(number) for number in range(len(texts))],
            "tokenizer.ggml.token_type": kinds,
            "tokenizer.ggml.bos_token_id": 1,
            "tokenizer.ggml.eos_token_id": 2,
        },
        texts,
    )


def write_model(path: Path, tokens: Tokens, *, seed: int = 0, untied: bool = False, **header: str) -> Path:
    """Write a model whose weights are noise; ``untied`` gives it a head that is not its embedding.

    ``header`` gives entries such as ``general_name``, a first dot for the underscore.
    """
    entries: dict[str, Value] = {
        "general.architecture": "llama",
        "llama.context_length": 512,
        "llama.embedding_length": _WIDTH,
        "llama.block_count": 1,
        "llama.feed_forward_length": _WIDTH,
        "llama.attention.head_count": 1,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": _WIDTH,
        **tokens.entries,
        **{key.replace("_", ".", 1): value for key, value in header.items()},
    }
    square = ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"]
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (_WIDTH, len(tokens.texts)),
        "output_norm.weight": (_WIDTH,),
        "blk.0.attn_norm.weight": (_WIDTH,),
        "blk.0.ffn_norm.weight": (_WIDTH,),
        **{f"blk.0.{name}.weight": (_WIDTH, _WIDTH) for name in square},
        **({"output.weight": (_WIDTH, len(tokens.texts))} if untied else {}),
    }
    noise = np.random.default_rng(seed)
    return write_gguf(path, entries, shapes, lambda _name, shape: noise.normal(size=shape[::-1]))


def write_gguf(
    path: Path,
    entries: Mapping[str, Value],
    shapes: Mapping[str, tuple[int, ...]],
    tensor: Callable[[str, tuple[int, ...]], NDArray[np.float64]],
) -> Path:
    """Write a header and the tensors, made one by one; a tensor's last axis is the first of its shape."""
    writer = GGUFWriter(path, str(entries["general.architecture"]))
    for key, value in entries.items():
        if key != "general.architecture":
            kind = GGUFValueType.UINT32 if type(value) is int else GGUFValueType.get_type(value)
            writer.add_key_value(key, value, kind)
    for name, shape in shapes.items():
        writer.add_tensor_info(name, shape[::-1], np.dtype(np.float32), 4 * prod(shape))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for name, shape in shapes.items():
        writer.write_tensor_data(tensor(name, shape).astype(np.float32))
    writer.close()
    return path
