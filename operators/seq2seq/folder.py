"""The folder of an exported Marian model: which files there are, and what they say about the model.

The layout is that of Optimum's exports, which the Hugging Face Hub has for OPUS-MT: ``config.json``,
``generation_config.json``, ``vocab.json``, ``source.spm``, ``target.spm``, and beside them or in ``onnx/``
``encoder_model.onnx`` and ``decoder_model_merged.onnx``.

The pieces of the source and of the target come from different SentencePiece models, but share the numbers of
``vocab.json``, unless there is a ``target_vocab.json``. Numbers are not those of SentencePiece.
"""

from pathlib import Path
from typing import NamedTuple

import msgspec

from operators.errors import InputError, is_visible_file
from operators.models.onnx_graphs import read_json
from operators.seq2seq.vocabulary import PieceVocabulary

#: Endings of the files with the weights, the preferred ones first. Where rows of activations share a scale,
#: as in the quantised ones, a draft in a pass changes the logits of all its tokens a little.
_SUFFIXES = ("", "_quantized", "_int8", "_uint8")

# What its files in JSON are, for errors.
_FILE = "the file of a Marian model"


class Generation(msgspec.Struct, frozen=True):
    """How a model writes, in ``generation_config.json`` and, by older exports, in ``config.json``."""

    eos_token_id: int | tuple[int, ...] | None = None
    decoder_start_token_id: int | None = None
    pad_token_id: int | None = None
    bad_words_ids: tuple[tuple[int, ...], ...] | None = None


class Config(Generation, frozen=True):
    """The needed parts of ``config.json``."""

    model_type: str = ""
    #: Maximum number of tokens of a source and of an output.
    max_position_embeddings: int = 512


class Languages(msgspec.Struct, frozen=True):
    """The languages in ``tokenizer_config.json``: codes, or names of groups for models of several."""

    source_lang: str | None = None
    target_lang: str | None = None


class MarianFolder(NamedTuple):
    """A model's files and the numbers of its control tokens."""

    path: Path
    encoder: Path
    decoder: Path
    positions: int
    #: The token before every output, and those that end it or are never said.
    start: int
    ends: tuple[int, ...]
    banned: tuple[int, ...]
    languages: Languages


def is_marian(path: Path) -> bool:
    """Whether a path leads to the folder of a Marian model. Raises `InputError` for that of another model."""
    config = path / "config.json"
    if not is_visible_file(config):
        return False
    kind = read_json(config, Config, _FILE).model_type
    if kind != "marian":
        raise InputError(
            f"{path} holds a model of the type {kind or 'unknown'}: choose a GGUF file, or a Marian model "
            "such as OPUS-MT's"
        )
    return True


def read_folder(path: Path) -> MarianFolder:
    """What is in the folder of a Marian model. Raises `InputError` if it is not complete."""
    config = read_json(path / "config.json", Config, _FILE)
    said: Generation = config
    if is_visible_file(path / "generation_config.json"):
        said = read_json(path / "generation_config.json", Generation, _FILE)
    languages = Languages()
    if is_visible_file(path / "tokenizer_config.json"):
        languages = read_json(path / "tokenizer_config.json", Languages, _FILE)
    ends = said.eos_token_id if said.eos_token_id is not None else config.eos_token_id
    starts = (said.decoder_start_token_id, config.decoder_start_token_id, config.pad_token_id)
    start = next((one for one in starts if one is not None), None)
    if ends is None or start is None:
        raise InputError(
            f"{path}: config.json names no eos_token_id or no decoder_start_token_id; fetch the model again"
        )
    # Words of several tokens are banned by no model of OPUS-MT.
    banned = tuple(word[0] for word in said.bad_words_ids or config.bad_words_ids or () if len(word) == 1)
    return MarianFolder(
        path,
        *weights_of(path),
        config.max_position_embeddings,
        start,
        (ends,) if isinstance(ends, int) else ends,
        banned,
        languages,
    )


def weights_of(path: Path) -> tuple[Path, Path]:
    """The files of the encoder and of the merged decoder. Raises `InputError` if there are none."""
    return _weights(path, "encoder_model"), _weights(path, "decoder_model_merged")


def _weights(folder: Path, name: str) -> Path:
    for suffix in _SUFFIXES:
        for path in (folder / f"{name}{suffix}.onnx", folder / "onnx" / f"{name}{suffix}.onnx"):
            if is_visible_file(path):
                return path
    raise InputError(
        f"{folder}: it holds no {name}.onnx, here or in onnx/; fetch the model's export for ONNX Runtime"
    )


def read_vocabulary(folder: Path, ends: tuple[int, ...]) -> PieceVocabulary:
    """What a model writes, with what it reads; raises `InputError` if a file of them cannot be read."""
    numbers = read_json(folder / "vocab.json", dict[str, int], "a Marian vocabulary")
    source = PieceVocabulary(folder / "source.spm", ends, numbers)
    other = folder / "target_vocab.json"
    if other.is_file():
        numbers = read_json(other, dict[str, int], "a Marian vocabulary")
    return PieceVocabulary(folder / "target.spm", ends, numbers, source)
