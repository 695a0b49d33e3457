"""Marian's encoder and decoder in ONNX Runtime (Junczys-Dowmunt et al. 2018), one source at a time.

The layout of a folder is that of Optimum's exports, which the Hugging Face Hub has for OPUS-MT. The pieces of
the source and of the target come from different SentencePiece models, but share the numbers of
``vocab.json``, unless there is a ``target_vocab.json``.

Exports by transformers up to 4.48 were traced with a single token in the merged decoder's second branch:
there, several tokens attend to each other. This is tested when a model is loaded (`is_causal`).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from operators.decoding.forward import Logits
from operators.errors import InputError, is_visible_file
from operators.model_errors import ModelError
from operators.models.onnx_graphs import MergedDecoder, OnnxGraph, own_thread, read_json
from operators.seq2seq.store import DecoderState, EncodedSource
from operators.seq2seq.vocabulary import PieceVocabulary

#: Endings of the files with the weights, the preferred ones first. In quantised models rows of activations
#: share a scale, so a draft changes the logits of all tokens of its pass a little.
_SUFFIXES = ("", "_quantized", "_int8", "_uint8")

# The description of its JSON files in error messages.
_FILE = "the file of a Marian model"


class Config(msgspec.Struct, frozen=True):
    """The used settings of ``config.json``, ``generation_config.json`` and ``tokenizer_config.json``."""

    #: The tokens that end an output, and the one before every output.
    eos_token_id: int | tuple[int, ...]
    decoder_start_token_id: int
    #: Maximum number of tokens of a source and of an output.
    max_position_embeddings: int = 512
    bad_words_ids: tuple[tuple[int, ...], ...] | None = None
    #: Codes of the languages, or names of groups in multilingual models.
    source_lang: str | None = None
    target_lang: str | None = None


def is_marian(path: Path) -> bool:
    """Whether a path leads to a folder with a Marian model. Raises `InputError` for another kind of model."""
    config = path / "config.json"
    if not is_visible_file(config):
        return False
    kind = read_json(config, dict[str, Any], _FILE).get("model_type")
    if kind != "marian":
        raise InputError(
            f"{path} contains a model of the type {kind or 'unknown'}: choose a GGUF file, or a Marian model "
            "such as OPUS-MT's"
        )
    return True


def _read_config(path: Path) -> Config:
    """The settings from all files; newer exports have some of them only in the other two files."""
    said: dict[str, Any] = {}
    for name in ("config.json", "generation_config.json", "tokenizer_config.json"):
        if name == "config.json" or is_visible_file(path / name):
            more = read_json(path / name, dict[str, Any], _FILE)
            said |= {key: value for key, value in more.items() if value is not None}
    said.setdefault("decoder_start_token_id", said.get("pad_token_id"))
    try:
        return msgspec.convert(said, Config)
    except msgspec.ValidationError as error:
        raise InputError(
            f"{path}: config.json is not that of a Marian model: {error}; fetch it again"
        ) from error


def _weights(folder: Path, name: str) -> Path:
    for suffix in _SUFFIXES:
        for path in (folder / f"{name}{suffix}.onnx", folder / "onnx" / f"{name}{suffix}.onnx"):
            if is_visible_file(path):
                return path
    raise InputError(
        f"{folder}: it holds no {name}.onnx, here or in onnx/; fetch the model's export for ONNX Runtime"
    )


def read_vocabulary(folder: Path, ends: tuple[int, ...]) -> PieceVocabulary:
    """The target vocabulary, with the other as ``source``. Raises `InputError` for an unreadable file."""
    numbers = read_json(folder / "vocab.json", dict[str, int], "a Marian vocabulary")
    source = PieceVocabulary(folder / "source.spm", ends, numbers)
    other = folder / "target_vocab.json"
    if other.is_file():
        numbers = read_json(other, dict[str, int], "a Marian vocabulary")
    return PieceVocabulary(folder / "target.spm", ends, numbers, source)


_Array = NDArray[Any]


class MarianModel:
    """The weights and the vocabularies of one model, as an `EncoderDecoder`."""

    def __init__(self, folder: Path, threads: int) -> None:
        """Load the files in a folder; raises `InputError` if they are not those of a Marian model."""
        self.path, config = folder, _read_config(folder)
        encoder, decoder = (_weights(folder, name) for name in ("encoder_model", "decoder_model_merged"))
        self.files: tuple[Path, ...] = (encoder, decoder)
        self.languages = (config.source_lang, config.target_lang)
        self.positions = config.max_position_embeddings
        end = config.eos_token_id
        self.start, self.ends = config.decoder_start_token_id, end if isinstance(end, tuple) else (end,)
        self.vocabulary = read_vocabulary(folder, self.ends)
        executor = own_thread()
        self._encoder = OnnxGraph(encoder, threads, executor, keeps_memory=False)
        self._decoder = MergedDecoder(decoder, threads, executor, keeps_memory=False)
        self.vocabulary_size = int(self._decoder.outputs["logits"][-1])
        # No model of OPUS-MT bans words of several tokens.
        self._banned = [word[0] for word in config.bad_words_ids or () if len(word) == 1]
        #: Whether the second branch takes several tokens at a time.
        self.is_causal = self._is_causal()
        # Cross-attention has no positions, so no keys need a rotation.
        self.can_shift = self.is_causal

    def read(self, source: Sequence[int]) -> EncodedSource:
        mask = np.ones((1, len(source)), np.int64)
        fed = {"input_ids": np.array([source], np.int64), "attention_mask": mask}
        return EncodedSource(len(source), next(iter(self._encoder.run(fed).values())), {})

    def write(
        self, read: EncodedSource, held: DecoderState, tokens: Sequence[int], rows: int
    ) -> tuple[Logits, DecoderState]:
        logits, held = self.go_on(read, held, tokens) if held else self.begin(read, tokens)
        return logits[len(logits) - rows :], held

    def begin(self, read: EncodedSource, tokens: Sequence[int]) -> tuple[Logits, DecoderState]:
        """Write ``tokens`` from the start token on: their logits, (tokens, vocabulary), keys and values."""
        fed = dict.fromkeys((*self._decoder.own, *self._decoder.cross), self._decoder.empty)
        return self._pass(read, tokens, fed, is_first=True)

    def go_on(
        self, read: EncodedSource, held: DecoderState, tokens: Sequence[int]
    ) -> tuple[Logits, DecoderState]:
        """Write ``tokens`` after the held ones; only one, unless the model `is_causal`."""
        if not read.cross:
            self.begin(read, [self.start])
        return self._pass(read, tokens, {**held, **read.cross}, is_first=False)

    def _pass(
        self, read: EncodedSource, tokens: Sequence[int], past: Mapping[str, _Array], *, is_first: bool
    ) -> tuple[Logits, DecoderState]:
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
        except ModelError:
            return False
        alone = []
        for token in tokens[1:]:
            row, held = self.go_on(read, held, [token])
            alone.append(row[0])
        whole, together, right = (
            np.delete(rows, self._banned, axis=1) for rows in (whole[1:], together, np.stack(alone))
        )
        # The logits of quantised models differ between passes by 0.02 standard deviations. With attention to
        # later tokens it is 0.4 in a trained model.
        noise, difference = (np.sqrt(((rows - right) ** 2).mean()) for rows in (whole, together))
        return bool(difference < 3 * noise + 0.01 * right.std())
