"""The folder of a Whisper model in CTranslate2's format: its tokens, its size, and what it must contain.

Tokens are spelled in GPT-2's alphabet, in which each byte is a printable character. A token's number is also
the rank of the merge that makes it, so no other table is needed.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import regex
from numpy.typing import NDArray

from operators.errors import InputError, UsageError, is_visible_file, unreadable
from operators.languages import Language
from operators.models.onnx_graphs import read_json
from operators.recognizers.part import check_folder
from operators.recognizers.whisper.weights import Weights
from operators.text import BYTE_OF_LETTER

# A word is encoded separately, with the space before it.
_WORDS = regex.compile(
    r"'(?:s|t|re|ve|m|ll|d)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
)


class BytePairs:
    """Encodes bytes with the tokens of one vocabulary.

    Args:
        pieces: The bytes of each token, in the order of the tokens' numbers. Bytes that none of them has are
            left out.
    """

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._numbers = {piece: number for number, piece in reversed(list(enumerate(pieces)))}

    def tokenize(self, text: bytes) -> list[int]:
        """The tokens of a text, which may begin or end within a character."""
        words = _WORDS.findall(text.decode("utf-8", "surrogateescape"))
        return [token for word in words for token in self._of_word(word.encode("utf-8", "surrogateescape"))]

    def _of_word(self, word: bytes) -> list[int]:
        parts = [word[at : at + 1] for at in range(len(word))]
        while len(parts) > 1:
            ranks = [self._numbers.get(a + b) for a, b in pairwise(parts)]
            known = [(rank, place) for place, rank in enumerate(ranks) if rank is not None]
            if not known:
                break
            _, place = min(known)
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        return [self._numbers[part] for part in parts if part in self._numbers]


#: Whisper's codes where they are others than ours.
_CODES = {"fil": "tl", "jv": "jw"}


class Vocabulary:
    """The tokens of one model.

    Args:
        spellings: Each token's characters, in the order of the tokens' numbers.
        source: Where they come from, for error messages.

    Raises:
        InputError: if it is not the vocabulary of a Whisper model.
    """

    def __init__(self, spellings: Sequence[str], source: Path) -> None:
        self._spellings = spellings
        self._numbers = {spelling: number for number, spelling in enumerate(spellings)}
        self._source = source
        self.end = self._special("<|endoftext|>")
        self.start = self._special("<|startoftranscript|>")
        self._transcribe = self._special("<|transcribe|>")
        self._no_timestamps = self._special("<|notimestamps|>")
        #: The token for speech without a speaker, in place of a transcript.
        self.no_speech = self._numbers.get("<|nospeech|>", self._numbers.get("<|nocaptions|>"))
        self._pieces = [_piece(spelling) for spelling in spellings[: self.end]]
        # Made on demand: recognition needs no tokeniser.
        self._byte_pairs: BytePairs | None = None

    def __len__(self) -> int:
        return len(self._spellings)

    @property
    def is_multilingual(self) -> bool:
        """Whether the model has several languages: its end token has another number than GPT-2's."""
        return self.end > 50256

    def prompt(self, spoken: Language) -> list[int]:
        """The tokens before a transcript in a language. Raises `UsageError` if the model lacks it."""
        if not self.is_multilingual:
            if spoken.code != "en":
                raise UsageError(
                    f"{self._source.parent}: this Whisper model knows English only; name a multilingual one "
                    f"for {spoken.name}"
                )
            return [self.start, self._no_timestamps]
        tongue = self._numbers.get(f"<|{_CODES.get(spoken.code, spoken.code)}|>")
        if tongue is None:
            raise UsageError(
                f"{self._source.parent}: this Whisper model does not know {spoken.name}; choose another"
            )
        return [self.start, tongue, self._transcribe, self._no_timestamps]

    def piece(self, token: int) -> bytes:
        """The bytes that a token stands for; empty for a mark."""
        return self._pieces[token] if 0 <= token < self.end else b""

    def tokenize(self, text: bytes) -> list[int]:
        """The tokens of a text, without marks."""
        if self._byte_pairs is None:
            self._byte_pairs = BytePairs(self._pieces)
        return self._byte_pairs.tokenize(text)

    def spells_like(self, other: "Vocabulary") -> bool:
        """Whether each token stands for the same bytes in the other vocabulary."""
        return self._pieces == other._pieces

    def text(self, tokens: Sequence[int]) -> str:
        """The text of tokens; an incomplete character at the end is left out."""
        joined = b"".join(map(self.piece, tokens))
        # The replacement character stands for a character whose last bytes are in later tokens.
        return joined.decode("utf-8", "replace").rstrip("\ufffd").strip()

    def _special(self, spelling: str) -> int:
        if spelling not in self._numbers:
            raise InputError(
                f"{self._source}: it has no token {spelling}; name the folder of a Whisper model"
            )
        return self._numbers[spelling]


_VOCABULARIES = ("vocabulary.json", "vocabulary.txt")


def load_vocabulary(folder: Path) -> Vocabulary:
    """Read ``vocabulary.json`` or ``vocabulary.txt`` of a model's folder.

    Raises `InputError` if neither can be read.
    """
    json, lines = (folder / name for name in _VOCABULARIES)
    if json.is_file():
        return Vocabulary(read_json(json, list[str], "the vocabulary of a Whisper model"), json)
    try:
        # Not splitlines(): tokens contain characters that it treats as line ends.
        return Vocabulary(lines.read_bytes().decode("utf-8").removesuffix("\n").split("\n"), lines)
    except OSError as error:
        raise InputError(unreadable(lines, error)) from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{lines}: this is not the vocabulary of a Whisper model; fetch the model again"
        ) from error


def _piece(spelling: str) -> bytes:
    try:
        return bytes(BYTE_OF_LETTER[character] for character in spelling)
    except KeyError:
        return spelling.encode("utf-8", "replace")


#: Positions on which the encoder was trained: 30 s.
POSITIONS = 1500


class Size(NamedTuple):
    """The shape of a model."""

    encoder_layers: int
    decoder_layers: int
    encoder_heads: int
    heads: int
    #: Width of the states, and of one head of the decoder.
    width: int
    head_width: int
    #: Mel bands of the features.
    bands: int
    #: Tokens, and positions of the decoder.
    tokens: int
    length: int


def size_of(weights: Weights) -> Size:
    """The shape of the model with these weights. Raises `InputError` if they do not form one."""
    tokens, width = _shape(weights, "decoder/embeddings/weight", 2)
    bands = _shape(weights, "encoder/conv1/weight", 3)[1]
    length = _shape(weights, "decoder/position_encodings/encodings", 2)[0]
    heads, encoder_heads = weights.number("decoder/num_heads"), weights.number("encoder/num_heads")
    layers = _layers(weights, "encoder"), _layers(weights, "decoder")
    if not (all(layers) and heads > 0 and encoder_heads > 0 and width % heads == 0 == width % encoder_heads):
        raise InputError("model.bin: its sizes do not form a Whisper model; convert the model again")
    return Size(*layers, encoder_heads, heads, width, width // heads, bands, tokens, length)


def _shape(weights: Weights, name: str, rank: int) -> tuple[int, ...]:
    shape = weights.shape(name)
    if len(shape) != rank:
        raise InputError(f"model.bin: {name} has another shape than in a Whisper model; convert it again")
    return shape


def _layers(weights: Weights, part: str) -> int:
    count = 0
    while f"{part}/layer_{count}/ffn/linear_0/weight" in weights:
        count += 1
    return count


class WhisperConfig(msgspec.Struct):
    """The needed parts of config.json: tokens that greedy decoding never takes."""

    suppress_ids: tuple[int, ...] = ()
    #: Tokens with which it never begins.
    suppress_ids_begin: tuple[int, ...] = ()


class WhisperFolder(NamedTuple):
    """The contents of a folder."""

    path: Path
    vocabulary: Vocabulary
    #: Tokens that no transcript contains, and tokens with which none begins.
    suppressed: NDArray[np.int64]
    suppressed_first: NDArray[np.int64]
    size: Size


def read_folder(path: Path) -> tuple[WhisperFolder, Weights]:
    """Read a model's folder; of the weights only their names.

    Raises `InputError` if it is not a Whisper model in CTranslate2's format.
    """
    _check(path)
    vocabulary, config = (
        load_vocabulary(path),
        read_json(path / "config.json", WhisperConfig, "the configuration of a Whisper model"),
    )
    weights = Weights(path / "model.bin")
    size = size_of(weights)
    if len(vocabulary) > size.tokens:
        raise InputError(
            f"{path}: its vocabulary has {len(vocabulary)} tokens, and the model {size.tokens}; "
            "fetch both again"
        )
    # Those of the configuration, and the marks of other tasks and of timestamps.
    suppressed = {*config.suppress_ids, *range(vocabulary.end + 1, size.tokens)}
    first = set(config.suppress_ids_begin)
    suppressed_at, first_at = _indices(suppressed, size.tokens), _indices(first, size.tokens)
    return WhisperFolder(path, vocabulary, suppressed_at, first_at, size), weights


def _indices(numbers: set[int], most: int) -> NDArray[np.int64]:
    return np.array(sorted(number for number in numbers if 0 <= number < most), np.int64)


def _check(folder: Path) -> None:
    spellings = [name for name in _VOCABULARIES if is_visible_file(folder / name)]
    check_folder(
        folder,
        ("model.bin", "config.json", *(spellings or _VOCABULARIES[:1])),
        "a Whisper model in the format of CTranslate2",
    )
