"""Assembles a model: base weights, an adapter and the kept tokens become one GGUF file."""

import hashlib
from pathlib import Path
from typing import NamedTuple

from connectors.files.checksum import sha256_of
from connectors.gguf.file import GgufFile, Tensor, read_gguf, rows_of
from connectors.gguf.values import Entry, encode
from connectors.models.adapter import read_adapter
from connectors.models.pruned import NOTICE_KEY, changes, prune
from connectors.models.vocabulary import tokenizer_of
from connectors.models.vocabulary_list import list_entries, read_list
from operators.errors import InputError
from operators.models.adapter import Adapter
from operators.models.quantize import dequantize, quantize
from operators.models.tensor_types import Types, group_of, number_of
from operators.progress import Progress
from operators.prompts.trained import TEMPLATES_KEY, TrainedPrompts, spell_prompts

#: Incremented when the same parts produce a different file.
_RECIPE = 1


class Parts(NamedTuple):
    """The parts from which a model is assembled."""

    base: Path
    adapter: Path
    #: The list of kept tokens; None for all of them.
    vocabulary: Path | None
    #: The storage type for each group of tensors; groups not listed here keep their types.
    types: Types
    #: How to prompt the model, if the adapter's file does not say so.
    prompts: TrainedPrompts | None = None


def fingerprint(parts: Parts) -> str:
    """Twelve digits that identify the parts and the way they are assembled. Raises `InputError`."""
    sums = [sha256_of(path) for path in parts[:3] if isinstance(path, Path)]
    prompts = spell_prompts(parts.prompts) if parts.prompts else ""
    named = [
        str(_RECIPE),
        *sums,
        *(f"{group}={kind}" for group, kind in sorted(parts.types.items())),
        prompts,
    ]
    return hashlib.sha256("\n".join(named).encode()).hexdigest()[:12]


def assemble(parts: Parts, progress: Progress) -> GgufFile:
    """Assemble the model in memory.

    Raises:
        InputError: a part is damaged or does not fit the others.
    """
    progress("reading the base model", None)
    base = read_gguf(parts.base)
    architecture = base.text("general.architecture")
    adapter, about = read_adapter(parts.adapter, architecture, _blocks(base, architecture))
    _check_fits(adapter, base, parts)
    if parts.prompts is not None:
        about[TEMPLATES_KEY] = encode(spell_prompts(parts.prompts))
    if TEMPLATES_KEY not in about:
        raise InputError(
            f"{parts.adapter}: this adapter does not name its languages; name them with --from and --to"
        )
    about |= _origin(base, parts)
    if parts.vocabulary is not None:
        tokenizer = tokenizer_of(base, parts.base)
        kept = read_list(parts.vocabulary, base, parts.base)
        about |= list_entries(base, tokenizer.size, kept)
        base = prune(base, tokenizer, kept, parts.base)
    entries = {key: entry for key, entry in base.entries.items() if key != "general.file_type"}
    entries[NOTICE_KEY] = changes(base, _what_was_done(parts))
    return GgufFile(entries | about, _merged(base.tensors, adapter, parts, progress))


def _merged(
    tensors: dict[str, Tensor], adapter: Adapter, parts: Parts, progress: Progress
) -> dict[str, Tensor]:
    merged = {}
    for number, (name, tensor) in enumerate(tensors.items()):
        progress("adding the adapter to the weights", number / len(tensors))
        group = group_of(name)
        wanted = parts.types.get(group or "")
        kind = number_of(wanted, tensor.shape[0]) if wanted else tensor.kind
        if kind != tensor.kind or name in adapter.added:
            tensor = _changed(name, tensor, kind, adapter, parts)
        merged[name] = tensor
    progress("adding the adapter to the weights", 1.0)
    return merged


def _changed(name: str, tensor: Tensor, kind: int, adapter: Adapter, parts: Parts) -> Tensor:
    try:
        matrix = dequantize(rows_of(tensor), tensor.kind)
    except (ValueError, NotImplementedError):
        raise InputError(
            f"{parts.base}: the type {tensor.kind} of its tensor {name} is not supported; "
            "use a base model in F16, Q8_0 or Q4_K_M"
        ) from None
    if name in adapter.added:
        matrix = adapter.merged(name, matrix)
    return Tensor(kind, tensor.shape, quantize(matrix, kind))


def _check_fits(adapter: Adapter, base: GgufFile, parts: Parts) -> None:
    for name, low in adapter.added.items():
        tensor = base.tensors.get(name)
        if tensor is None or tensor.shape != low.shape[::-1]:
            shape = "nothing" if tensor is None else "×".join(map(str, tensor.shape[::-1]))
            raise InputError(
                f"{parts.adapter} is not for {parts.base}: it changes {name} of shape "
                f"{'×'.join(map(str, low.shape))}, where that model has {shape}; "
                "give the base model that it was trained on"
            )


def _origin(base: GgufFile, parts: Parts) -> dict[str, Entry]:
    """The model's origin; its licence remains that of the base model, in ``general.license``."""
    return {
        "general.name": encode(f"{base.text('general.name')} captions"),
        "surtitle.base.name": encode(base.text("general.name")),
        "surtitle.base.license": encode(base.text("general.license")),
        "surtitle.base.sha256": encode(sha256_of(parts.base)),
        "surtitle.adapter.sha256": encode(sha256_of(parts.adapter)),
    }


def _what_was_done(parts: Parts) -> str:
    fewer = ", tokens left out" if parts.vocabulary is not None else ""
    kinds = ", ".join(f"{group} {kind}" for group, kind in parts.types.items())
    return f"an adapter added to the weights{fewer}, quantised anew ({kinds or 'types as before'})"


def _blocks(base: GgufFile, architecture: str) -> int:
    blocks = base.value(f"{architecture}.block_count")
    return blocks if isinstance(blocks, int) else 0
