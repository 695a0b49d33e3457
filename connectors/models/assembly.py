"""Assembles a model: base weights, an adapter and the kept tokens become one GGUF file.

The models for captions are assembled in the user's cache, with files shipped with surtitle.
"""

import hashlib
from contextlib import ExitStack
from importlib.resources import as_file
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray
from platformdirs import user_cache_path

from connectors.files.contents import sha256_of
from connectors.gguf.file import Entry, GgufFile, Tensor, count_of, encode, read_gguf, rows_of, select
from connectors.gguf.header import check_gguf
from connectors.models.adapter import read_adapter
from connectors.models.captions_folder import ADAPTER, VOCABULARY
from connectors.models.vocabulary import Vocabulary, list_entries, read_list, special_ids, vocabulary_of
from connectors.models.writer import remove_abandoned, write_model
from operators.errors import InputError, OutputError
from operators.models.adapter import Adapter
from operators.models.quantize import dequantize, quantize, stored_type
from operators.notifications import Progress
from operators.prompts.template import TEMPLATES_KEY, TrainedPrompts, spell_prompts

#: The header entry that says that, and how, a model was changed.
NOTICE_KEY = "surtitle.notice"

#: Tensors with a row for each token: the embedding, which is also Gemma's output head, and separate heads.
_ROW_PER_TOKEN = ("token_embd.weight", "output.weight", "per_layer_token_embd.weight")
_ELEMENT_PER_TOKEN = ("output.bias",)
_LISTS = ("tokenizer.ggml.tokens", "tokenizer.ggml.scores", "tokenizer.ggml.token_type")
#: Copies of the vocabulary for other programs, which would no longer be correct.
_FOREIGN = ("tokenizer.huggingface.json",)


def changes(file: GgufFile, what: str) -> Entry:
    """A header entry that says how a model was changed, as licences of weights require."""
    said = f"Changed by surtitle: {what}."
    if file.text("general.license") == "gemma":
        said += " Gemma is provided under and subject to the Gemma Terms of Use found at "
        said += "ai.google.dev/gemma/terms"
    return encode(said)


def prune(file: GgufFile, vocabulary: Vocabulary, kept: NDArray[np.int32], path: Path) -> GgufFile:
    """The file with only the tokens ``kept``, whose positions in it become their new ids.

    Raises `InputError` if the model has an unknown tensor over the vocabulary.
    """
    places = kept.astype(np.intp)
    entries = _entries(file, vocabulary, places, path)
    entries[NOTICE_KEY] = changes(file, f"{len(kept)} of {vocabulary.size} tokens stay")
    return GgufFile(entries, _tensors(file.tensors, vocabulary.size, places, path))


def _entries(
    file: GgufFile, vocabulary: Vocabulary, places: NDArray[np.intp], path: Path
) -> dict[str, Entry]:
    new_ids = np.full(vocabulary.size, -1, np.int64)
    new_ids[places] = np.arange(len(places))
    entries = {key: entry for key, entry in file.entries.items() if key not in _FOREIGN}
    for key in _LISTS:
        if key in entries:
            if count_of(entries[key]) != vocabulary.size:
                raise InputError(
                    f"{path}: {key} does not have one value per token; use another file of this model"
                )
            entries[key] = select(entries[key], places)
    for key, token in special_ids(file, vocabulary.size).items():
        if new_ids[token] < 0:
            raise InputError(f"{path}: add to the tokens to keep the one that {key} names")
        entries[key] = encode(int(new_ids[token]), entries[key].kind)
    sizes = (f"{file.text('general.architecture')}.vocab_size", "tokenizer.ggml.vocab_size")
    for key in sizes:
        if key in entries:
            entries[key] = encode(len(places), entries[key].kind)
    if vocabulary.model == "gpt2":
        entries["tokenizer.ggml.merges"] = encode(_merges(vocabulary, new_ids))
    return entries


def _merges(vocabulary: Vocabulary, new_ids: NDArray[np.int64]) -> list[str]:
    """The merges whose parts and result are kept."""
    every = frozenset(vocabulary.texts)
    stay = {vocabulary.texts[token] for token in np.flatnonzero(new_ids >= 0)}

    def stays(merge: str) -> bool:
        left, _, right = merge.partition(" ")
        # A merge whose result is not a token spells its parts in bytes; such rare merges are kept.
        return left in stay and right in stay and (left + right in stay or left + right not in every)

    return [merge for merge in vocabulary.merges if stays(merge)]


def _tensors(
    tensors: dict[str, Tensor], size: int, places: NDArray[np.intp], path: Path
) -> dict[str, Tensor]:
    pruned = {}
    for name, tensor in tensors.items():
        if name in (*_ROW_PER_TOKEN, *_ELEMENT_PER_TOKEN):
            pruned[name] = _fewer_rows(name, tensor, size, places, path)
        elif size in tensor.shape:
            raise InputError(
                f"{path}: its tensor {name} has {size} rows or columns, one for each token, for an "
                "unknown purpose; prune a model whose head is token_embd or output"
            )
        else:
            pruned[name] = tensor
    return pruned


def _fewer_rows(name: str, tensor: Tensor, size: int, places: NDArray[np.intp], path: Path) -> Tensor:
    if len(tensor.shape) not in (1, 2) or tensor.shape[-1] != size:
        shape = "×".join(map(str, tensor.shape))
        raise InputError(
            f"{path}: {name} has the shape {shape} for {size} tokens; use another file of this model"
        )
    try:
        rows = tensor.data.reshape(size, -1) if len(tensor.shape) == 1 else rows_of(tensor)
    except ValueError:
        raise InputError(
            f"{path}: the type {tensor.kind} of its tensor {name} is not supported; quantise the model again"
        ) from None
    return Tensor(tensor.kind, (*tensor.shape[:-1], len(places)), rows[places].reshape(-1))


#: Incremented when the same parts produce a different file.
_RECIPE = 2

#: The tensors that are stored in 8 bits; others keep their types.
_MATRIX = regex.compile(
    r"(?:token_embd|output|blk\.\d+\.(?:attn_(?:q|k|v|qkv|output)|ffn_(?:gate|up|down)))\.weight"
)


class Parts(NamedTuple):
    """The parts from which a model is assembled."""

    base: Path
    adapter: Path
    #: The list of kept tokens; None for all of them.
    vocabulary: Path | None
    #: How to prompt the model, if the adapter's file does not say so.
    prompts: TrainedPrompts | None = None


def fingerprint(parts: Parts) -> str:
    """Twelve digits that identify the parts and the way they are assembled. Raises `InputError`."""
    sums = [sha256_of(path) for path in parts[:3] if isinstance(path, Path)]
    prompts = spell_prompts(parts.prompts) if parts.prompts else ""
    named = [str(_RECIPE), *sums, prompts]
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
        vocabulary = vocabulary_of(base, parts.base)
        kept = read_list(parts.vocabulary, base, parts.base)
        about |= list_entries(base, vocabulary.size, kept)
        base = prune(base, vocabulary, kept, parts.base)
    entries = {key: entry for key, entry in base.entries.items() if key != "general.file_type"}
    entries[NOTICE_KEY] = changes(base, _what_was_done(parts))
    return GgufFile(entries | about, _merged(base.tensors, adapter, parts, progress))


def _merged(
    tensors: dict[str, Tensor], adapter: Adapter, parts: Parts, progress: Progress
) -> dict[str, Tensor]:
    merged = {}
    for number, (name, tensor) in enumerate(tensors.items()):
        progress("adding the adapter to the weights", number / len(tensors))
        kind = stored_type(tensor.shape[0]) if _MATRIX.fullmatch(name) else tensor.kind
        if kind != tensor.kind or name in adapter.added:
            tensor = _changed(name, tensor, kind, adapter, parts)
        merged[name] = tensor
    progress("adding the adapter to the weights", 1.0)
    return merged


def _changed(name: str, tensor: Tensor, kind: int, adapter: Adapter, parts: Parts) -> Tensor:
    try:
        matrix = dequantize(rows_of(tensor), tensor.kind)
    except ValueError:
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
    return f"an adapter added to the weights{fewer}, quantised anew in Q8_0"


def _blocks(base: GgufFile, architecture: str) -> int:
    blocks = base.value(f"{architecture}.block_count")
    return blocks if isinstance(blocks, int) else 0


def captions_model(base: Path, folder: Traversable, progress: Progress) -> Path:
    """The path of a captions model, which is assembled if it is not in the cache.

    Args:
        base: the file of the base model.
        folder: the folder of the adapter and the list of tokens; its name is that of the direction.
        progress: gets each step and its progress.

    Raises:
        InputError: a part is missing or damaged.
        OutputError: the cache cannot store the model.
    """
    with ExitStack() as stack:
        adapter, vocabulary = (stack.enter_context(as_file(folder / name)) for name in (ADAPTER, VOCABULARY))
        parts = Parts(base, adapter, vocabulary)
        target = cached_path(parts, f"captions-{folder.name}")
        if not _is_complete(target):
            remove_abandoned(target)
            model = assemble(parts, progress)
            write_model(target, model, lambda part: progress("writing the captions model", part))
    return target


def _is_complete(path: Path) -> bool:
    """Whether there is a model as long as its header says: something may have cut the cached file since."""
    try:
        check_gguf(path)
    except InputError:
        return False
    return True


def cached_path(parts: Parts, name: str = "captions") -> Path:
    """The path in the user's cache for the model of these parts. Raises `OutputError` without a cache."""
    folder = user_cache_path("surtitle")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"the cache folder {folder} cannot be made, {error.strerror}: set XDG_CACHE_HOME to another one"
        ) from None
    return folder / f"{name}-{fingerprint(parts)}.gguf"
