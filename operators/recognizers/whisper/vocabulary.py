"""Whisper's tokens: their bytes, and the special ones.

Tokens are spelled in GPT-2's alphabet, in which each byte is a printable character: 188 bytes are their own
characters, and the others follow from 256 on.

A token's number is also the rank of the merge that makes it, so no other table is needed.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
import regex

from operators.errors import InputError, UsageError, unreadable
from operators.languages import Language

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


_MAX_TOKENS = 1_000_000
#: Whisper's codes where they are others than ours.
_CODES = {"fil": "tl", "jv": "jw"}


def _alphabet() -> dict[str, int]:
    own = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in own]
    return {chr(byte): byte for byte in own} | {chr(256 + at): byte for at, byte in enumerate(others)}


_BYTES = _alphabet()


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


def load_vocabulary(folder: Path) -> Vocabulary:
    """Read ``vocabulary.json`` or ``vocabulary.txt`` of a model's folder.

    Raises `InputError` if neither can be read.
    """
    json, lines = folder / "vocabulary.json", folder / "vocabulary.txt"
    path = json if json.is_file() else lines
    try:
        data = path.read_bytes()
        if path == json:
            spellings = msgspec.json.decode(data, type=list[str])
        else:
            # Not splitlines(): tokens contain characters that it treats as line ends.
            spellings = data.decode("utf-8").removesuffix("\n").split("\n")
    except OSError as error:
        raise InputError(unreadable(path, error)) from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: this is not the vocabulary of a Whisper model; fetch the model again"
        ) from error
    if len(spellings) > _MAX_TOKENS:
        raise InputError(
            f"{path}: {len(spellings)} tokens are more than any Whisper model has; fetch it again"
        )
    return Vocabulary(spellings, path)


def _piece(spelling: str) -> bytes:
    try:
        return bytes(_BYTES[character] for character in spelling)
    except KeyError:
        return spelling.encode("utf-8", "replace")
