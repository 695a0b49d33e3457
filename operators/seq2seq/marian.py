"""Marian's encoder and decoder in ONNX Runtime (Junczys-Dowmunt et al. 2018), one source at a time.

The layout of a folder is that of Optimum's exports, which the Hugging Face Hub has for OPUS-MT. The pieces of
the source and of the target come from different SentencePiece models, but share the numbers of
``vocab.json``, unless there is a ``target_vocab.json``.

Exports by transformers 4.48 and before were traced with a single token in the merged decoder's second branch:
several would see each other. That is tried at the start (`is_causal`).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from operators.decoding.forward import Logits
from operators.errors import InputError, is_visible_file
from operators.models.onnx_graphs import MergedDecoder, OnnxGraph, own_thread, read_json
from operators.seq2seq.store import Held, Read
from operators.seq2seq.vocabulary import PieceVocabulary
from operators.trouble import ModelTrouble

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
        _weights(path, "encoder_model"),
        _weights(path, "decoder_model_merged"),
        config.max_position_embeddings,
        start,
        (ends,) if isinstance(ends, int) else ends,
        banned,
        languages,
    )


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


_Array = NDArray[Any]


class MarianModel:
    """The weights and the vocabularies of one model, as an `EncoderDecoder`."""

    def __init__(self, folder: MarianFolder, threads: int) -> None:
        """Load the files; raises `InputError` if they are not those of a Marian model."""
        self.path = folder.path
        self.files: tuple[Path, ...] = (folder.encoder, folder.decoder)
        self.languages = (folder.languages.source_lang, folder.languages.target_lang)
        self.positions = folder.positions
        self.start, self.ends = folder.start, folder.ends
        self.vocabulary = read_vocabulary(folder.path, folder.ends)
        executor = own_thread()
        self._encoder = OnnxGraph(folder.encoder, threads, executor, keeps_memory=False)
        decoder = self._decoder = MergedDecoder(folder.decoder, threads, executor, keeps_memory=False)
        self.vocabulary_size = int(decoder.outputs["logits"][-1])
        self._banned = list(folder.banned)
        #: Whether the second branch takes several tokens at a time.
        self.is_causal = self._is_causal()
        # In cross-attention its tokens have no positions, so nothing is turned.
        self.can_shift = self.is_causal

    def read(self, source: Sequence[int]) -> Read:
        """Read a source with its end token. Raises `ModelTrouble` if ONNX Runtime fails."""
        mask = np.ones((1, len(source)), np.int64)
        fed = {"input_ids": np.array([source], np.int64), "attention_mask": mask}
        return Read(len(source), next(iter(self._encoder.run(fed).values())), {})

    def write(self, read: Read, held: Held, tokens: Sequence[int], rows: int) -> tuple[Logits, Held]:
        """Write after what is held. Raises `ModelTrouble` if ONNX Runtime fails."""
        logits, held = self.go_on(read, held, tokens) if held else self.begin(read, tokens)
        return logits[len(logits) - rows :], held

    def begin(self, read: Read, tokens: Sequence[int]) -> tuple[Logits, Held]:
        """Write ``tokens`` from the start token on: their logits, (tokens, vocabulary), keys and values."""
        fed = dict.fromkeys((*self._decoder.own, *self._decoder.cross), self._decoder.empty)
        return self._pass(read, tokens, fed, is_first=True)

    def go_on(self, read: Read, held: Held, tokens: Sequence[int]) -> tuple[Logits, Held]:
        """Write ``tokens`` after what is held; only one, unless the model `is_causal`."""
        if not read.cross:
            self.begin(read, [self.start])
        return self._pass(read, tokens, {**held, **read.cross}, is_first=False)

    def _pass(
        self, read: Read, tokens: Sequence[int], past: Mapping[str, _Array], *, is_first: bool
    ) -> tuple[Logits, Held]:
        fed = {
            **past,
            "input_ids": np.array([list(tokens)], np.int64),
            "encoder_hidden_states": read.states,
            "encoder_attention_mask": np.ones((1, read.tokens), np.int64),
        }
        own, cross = self._decoder.own, self._decoder.cross
        wanted = [*own, *cross] if is_first and not read.cross else own
        logits, held = self._decoder.step(fed, wanted, is_first=is_first)
        read.cross.update((name, held.pop(name)) for name in wanted if name in cross)
        logits[:, self._banned] = -np.inf
        return logits, held

    def _is_causal(self) -> bool:
        start, end = self.start, self.ends[0]
        tokens = [start, *(number for number in range(10) if number not in (start, end, *self._banned))]
        read = self.read([tokens[-1], end])
        whole, held = self.begin(read, tokens)
        held = {name: values[:, :, :1] for name, values in held.items()}
        try:
            together, _ = self.go_on(read, held, tokens[1:])
        except ModelTrouble:
            return False
        alone = []
        for token in tokens[1:]:
            row, held = self.go_on(read, held, [token])
            alone.append(row[0])
        whole, together, right = (
            np.delete(rows, self._banned, axis=1) for rows in (whole[1:], together, np.stack(alone))
        )
        # Quantised models answer a little differently in each pass: by 0.02 standard deviations. Seeing
        # later tokens makes it 0.4 in a trained model.
        noise, difference = (np.sqrt(((rows - right) ** 2).mean()) for rows in (whole, together))
        return bool(difference < 3 * noise + 0.01 * right.std())
