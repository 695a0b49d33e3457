"""The folder of an exported Marian model: which files there are, and what they say about the model.

The layout is that of Optimum's exports, which the Hugging Face Hub has for OPUS-MT: ``config.json``,
``generation_config.json``, ``vocab.json``, ``source.spm``, ``target.spm``, and beside them or in ``onnx/``
``encoder_model.onnx`` and ``decoder_model_merged.onnx``.

The pieces of the source and of the target come from different SentencePiece models, but share the numbers of
``vocab.json``, unless there is a ``target_vocab.json``. Numbers are not those of SentencePiece.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from operators.errors import InputError, is_visible_file, unreadable
from operators.extras import needs_extra
from operators.models.onnx_graphs import read_json

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


_SPACE = "▁"
_UNKNOWN = "<unk>"
# A character that no piece has, and so a piece of its own.
_NOBODYS = "\ue000"
# Marks such as </s>, <pad>, and >>deu<< of models with several target languages.
_CONTROL = re.compile(r"<[^<>]*>|>>.*<<")
LANGUAGE = re.compile(r">>(.*)<<")


class MarianVocabulary:
    """The tokens of one language. As a `Vocabulary` it spells no control tokens and has no beginning."""

    def __init__(self, spm: Path, numbers: dict[str, int], ends: tuple[int, ...]) -> None:
        """The pieces of ``spm``, with ``numbers``; raises `InputError` if it is no SentencePiece model."""
        self.numbers = numbers
        self._unknown = numbers.get(_UNKNOWN, 0)
        self._ends = ends
        self._processor = _processor(spm)
        self._pieces = {
            number: b"" if _CONTROL.fullmatch(piece) else piece.replace(_SPACE, " ").encode()
            for piece, number in numbers.items()
        }

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:  # noqa: ARG002 - the protocol
        """Token ids of ``text``; the space of a text that begins with one belongs to its first token."""
        if not text or text[0].isspace():
            pieces = self._processor.encode(text, out_type=str)
        else:
            # SentencePiece puts a space before all texts; a word after a quotation mark, say, has none.
            pieces = self._processor.encode(_NOBODYS + text, out_type=str)
            pieces = pieces[1 + next(i for i, piece in enumerate(pieces) if _NOBODYS in piece) :]
        return [self.numbers.get(piece, self._unknown) for piece in pieces]

    def piece(self, token: int) -> bytes:
        """The bytes that a token stands for; empty for a control token, and for one of another vocabulary."""
        return self._pieces.get(token, b"")

    def is_end(self, token: int) -> bool:
        """Whether the model ends its output with this token."""
        return token in self._ends

    @property
    def begin(self) -> list[int]:
        """A source begins with no token of its own."""
        return []


class TargetVocabulary(MarianVocabulary):
    """What a model writes, with what it reads."""

    def __init__(self, folder: Path, ends: tuple[int, ...]) -> None:
        """Raises `InputError` if a file of them cannot be read."""
        numbers = read_json(folder / "vocab.json", dict[str, int], "a Marian vocabulary")
        #: The tokens of what it reads.
        self.source = MarianVocabulary(folder / "source.spm", numbers, ends)
        other = folder / "target_vocab.json"
        if other.is_file():
            numbers = read_json(other, dict[str, int], "a Marian vocabulary")
        super().__init__(folder / "target.spm", numbers, ends)


def _processor(path: Path) -> Any:
    with needs_extra("marian", "a Marian model"):
        import sentencepiece
    try:
        return sentencepiece.SentencePieceProcessor(model_proto=path.read_bytes())
    except OSError as error:
        raise InputError(unreadable(path, error)) from error
    except RuntimeError as error:
        raise InputError(f"{path}: this is not a SentencePiece model; fetch it again") from error
